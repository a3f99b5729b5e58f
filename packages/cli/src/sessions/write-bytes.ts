import type { Writable } from 'node:stream';

/** Writes, and waits while the stream has more than it can take: who reads slowly slows down who writes. */
export async function writeBytes(stream: Writable, bytes: Uint8Array): Promise<void> {
  if (stream.write(bytes) || stream.destroyed) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      for (const name of ['drain', 'close', 'error'] as const) stream.off(name, done);
      resolve();
    };
    for (const name of ['drain', 'close', 'error'] as const) stream.on(name, done);
  });
}
