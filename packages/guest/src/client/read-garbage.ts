import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Every read of a socket is a buffer outside the heap. V8 counts those as pressure on it and, under a fast stream, marks
 * the whole heap over and over; that takes more time than the stream itself. The buffers die young, so a small collection
 * after so many bytes frees them before the pressure is felt.
 *
 * Less than this makes too many collections; more lets the pressure begin, and keeps that much memory from reuse.
 */
const bytesPerCollection = 16 * 1024 * 1024;

let sinceLast = 0;
let collect: (() => void) | undefined;

/** Tells of bytes that were read from a socket in bulk. Costs an addition, and now and then a small collection. */
export function countRead(bytes: number): void {
  sinceLast += bytes;
  if (sinceLast < bytesPerCollection) return;
  sinceLast = 0;
  collect ??= prepare();
  collect();
}

/** Not before there is bulk: a program that moves none is left as it is. */
function prepare(): () => void {
  setFlagsFromString('--expose-gc');
  // The buffers are freed by this thread and not by another, which would make both wait for one lock of the allocator.
  setFlagsFromString('--no-concurrent-array-buffer-sweeping');
  // The function of a fresh context: the program's own globals stay as they are.
  const found: unknown = runInNewContext('typeof gc === "function" ? gc : undefined');
  setFlagsFromString('--no-expose-gc');
  return typeof found === 'function' ? () => found({ type: 'minor' }) : () => {};
}
