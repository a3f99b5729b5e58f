import type { Writable } from 'node:stream';
import { drained } from '../transfer/byte-streams.ts';

/** Writes, and waits while the stream has more than it can take: who reads slowly slows down who writes. */
export async function writeBytes(stream: Writable, bytes: Uint8Array): Promise<void> {
  if (!stream.write(bytes) && !stream.destroyed) await drained(stream);
}
