import { CaissonError } from '@caisson/contract';
import type { ProcessHandle } from './process-handle.ts';

/**
 * Gives a process the whole of its input. It may fail while the process itself is still being waited for, so whoever
 * awaits it hears of that, and nobody has to.
 */
export function feed(process: ProcessHandle, input: Uint8Array | string): Promise<void> {
  const feeding = write(process, input);
  feeding.catch(() => {});
  return feeding;
}

/** A program that reads only a part of its input is no failure. */
async function write(process: ProcessHandle, input: Uint8Array | string): Promise<void> {
  try {
    await process.stdin.write(typeof input === 'string' ? Buffer.from(input) : input);
    await process.stdin.end();
  } catch (error) {
    if (!(error instanceof CaissonError) || error.code !== 'process_ended') throw error;
  }
}
