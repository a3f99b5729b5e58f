import { expect, test } from 'vitest';
import { countRead } from './read-garbage.ts';

const MiB = 1024 * 1024;

test('buffers that were read and dropped are freed while the stream runs', () => {
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  for (let n = 0; n < 256; n += 1) {
    const read = Buffer.allocUnsafeSlow(MiB);
    countRead(read.byteLength);
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  }
  expect(most).toBeLessThan(64 * MiB);
});

test('a program that moves no bulk finds its globals as they were', () => {
  countRead(64 * MiB);
  expect('gc' in globalThis).toBe(false);
});
