import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { pipeline } from 'node:stream/promises';
import { CaissonError } from '@caisson/contract';

/** Ten times what Debian's own indexes need; a header that asks for more is not one of them. */
const memoryLimit = '512MiB';

/** By the machine's own `xz`: Node has none, and whoever can bootstrap a Debian has the program. */
export async function* unxz(content: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const child = spawn('xz', ['--decompress', '--stdout', `--memlimit-decompress=${memoryLimit}`], {
    stdio: ['pipe', 'pipe', 'ignore'],
    signal,
  });
  const ended = once(child, 'close').catch((error: Error) => error);
  const fed = pipeline(content, child.stdin).catch((error: Error) => error);
  try {
    yield* child.stdout as AsyncIterable<Uint8Array>;
    const result = await ended;
    if (result instanceof Error) throw failure(`xz cannot be run: ${result.message}`, result);
    // A program that stops reading is told of by its own end, not by the broken pipe.
    if (result[0] !== 0) throw failure(`xz ended with ${result[0] ?? result[1]}`);
    const sent = await fed;
    if (sent instanceof Error) throw sent;
  } finally {
    child.kill('SIGKILL');
  }
}

function failure(message: string, cause?: Error): CaissonError {
  return new CaissonError('image_invalid', `the package index cannot be unpacked: ${message}`, { cause });
}
