import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { CaissonError } from '@caisson/contract';

/** More than the last words of a program are of no use in an error. */
const lastWords = 2_000;

/** How `pack` says that a tree is larger than it may be, or has what no archive can tell. */
const exitCodes: Readonly<Record<number, 'image_too_large' | 'file_invalid'>> = {
  3: 'image_too_large',
  4: 'file_invalid',
};

/**
 * What the native program says of a tree, as it comes. It walks by descriptors, which Node cannot: whoever goes by paths in
 * a tree of a sandbox can be led out of it. It ends with its reader.
 */
export async function* readTree(
  program: string,
  args: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  signal.throwIfAborted();
  const child: ChildProcessByStdio<null, Readable, Readable> = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {},
  });
  let words = '';
  child.stderr.on('data', (chunk: Buffer) => {
    words = (words + chunk).slice(-lastWords);
  });
  const ended = new Promise<number | null>((resolve) => {
    child.on('error', (error) => {
      words = error.message;
      if (child.pid === undefined) resolve(null);
    });
    child.on('close', (code) => resolve(code));
  });
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  try {
    for await (const chunk of child.stdout) yield chunk as Buffer;
    const code = await ended;
    signal.throwIfAborted();
    if (code !== 0) throw failure(code, words.trim());
  } finally {
    signal.removeEventListener('abort', kill);
    if (child.pid !== undefined) {
      kill();
      await ended;
    }
  }
}

function failure(code: number | null, words: string): CaissonError {
  const said = words.split('\n').at(-1) || `it ended with ${code}`;
  return new CaissonError(exitCodes[code ?? 0] ?? 'storage_failed', said, { context: { words } });
}
