import { open } from 'node:fs/promises';
import { CaissonError, maxSecretBytes } from '@caisson/contract';
import type { Invocation } from '../invocation.ts';
import { askHidden } from './hidden-line.ts';

/**
 * The value of a secret: from a file, from the standard input, or typed without being shown. Never from the command line,
 * which every user of the machine can read. The line break that editors and `echo` put at its end is not part of it.
 */
export async function readSecretValue(
  file: string | undefined,
  name: string,
  invocation: Pick<Invocation, 'readStdin' | 'stdio'>,
): Promise<string> {
  if (file === undefined && invocation.stdio().stdin.isTTY === true)
    return askHidden(invocation.stdio(), `Value of ${name}: `);
  // One line break more than the value may have.
  const most = maxSecretBytes + 2;
  const bytes = file === undefined || file === '-' ? await invocation.readStdin(most) : await readUpTo(file, most);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new CaissonError('request_invalid', 'the value is not UTF-8 text, or is longer than 64 KiB');
  }
  return text.replace(/\r?\n$/, '');
}

async function readUpTo(file: string, most: number): Promise<Buffer> {
  try {
    const handle = await open(file, 'r');
    try {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(most + 1), 0, most + 1, null);
      return buffer.subarray(0, bytesRead);
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw new CaissonError('request_invalid', `cannot read ${file}: ${(error as Error).message}`, { cause: error });
  }
}
