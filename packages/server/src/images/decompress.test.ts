import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { decompressed } from './decompress.ts';

const block = (kind: 0 | 1, size: number, content: Buffer, isLast = true) => {
  const header = Buffer.alloc(3);
  header.writeUIntLE((size << 3) | (kind << 1) | (isLast ? 1 : 0), 0, 3);
  return Buffer.concat([header, content]);
};
const raw = (text: string, isLast = true) => block(0, text.length, Buffer.from(text), isLast);
const repeated = (size: number, isLast = true) => block(1, size, Buffer.from('x'), isLast);
/** `window`: 2 to the power of it. */
const frame = (window: number, ...blocks: Buffer[]) =>
  Buffer.concat([Buffer.from('28b52ffd00', 'hex'), Buffer.of((window - 10) << 3), ...blocks]);
const skippable = Buffer.from('502a4d1803000000ffffff', 'hex');

async function unpacked(archive: Buffer, pieceBytes = archive.length): Promise<string> {
  const pieces = async function* () {
    for (let at = 0; at < archive.length; at += pieceBytes) yield archive.subarray(at, at + pieceBytes);
  };
  let text = '';
  for await (const chunk of decompressed(pieces())) text += Buffer.from(chunk).toString('latin1');
  return text;
}

test.each([1, 7, 4096])(
  'frames of zstd follow each other, whatever is between, in pieces of %i bytes',
  async (bytes) => {
    const archive = [
      frame(17, raw('one ', false), raw('two ')),
      skippable,
      frame(17, repeated(40)),
      frame(10, raw('.')),
    ];
    expect(await unpacked(Buffer.concat(archive), bytes)).toBe(`one two ${'x'.repeat(40)}.`);
  },
);

test('gzip, and what is not compressed, come out as they are', async () => {
  expect(await unpacked(gzipSync('content'), 1)).toBe('content');
  expect(await unpacked(Buffer.from('abc'))).toBe('abc');
  expect(await unpacked(Buffer.alloc(0))).toBe('');
});

test('a later frame of zstd may want no more memory than the first', async () => {
  const single = Buffer.concat([Buffer.from('28b52ffda0', 'hex'), Buffer.from('ffffff7f', 'hex'), raw('x')]);
  for (const greedy of [frame(31, raw('x')), single])
    await expect(unpacked(Buffer.concat([frame(17, raw('a')), greedy]))).rejects.toMatchObject({
      code: 'image_too_large',
      message: expect.stringContaining('of memory'),
    });
});

test('a block of zstd that stands for more than one may is refused', async () => {
  await expect(unpacked(frame(27, repeated(2 ** 21 - 1)))).rejects.toMatchObject({ code: 'image_invalid' });
});

test('many blocks of zstd that hold nothing are refused for the work that they are', async () => {
  const empty = Array.from({ length: 10_000 }, () => raw('', false));
  await expect(unpacked(frame(27, ...empty))).rejects.toMatchObject({
    code: 'image_too_large',
    message: expect.stringContaining('too much work'),
  });
});

test.each([
  ['in a header', frame(17).subarray(0, 5)],
  ['in a block', frame(17, raw('abcdef')).subarray(0, 10)],
  ['before its last block', frame(17, raw('abc', false))],
  ['in what is skipped', skippable.subarray(0, 9)],
])('zstd that ends %s is refused', async (_, archive) => {
  const archives = Buffer.concat([frame(17, raw('a')), archive]);
  await expect(unpacked(archives)).rejects.toMatchObject({ code: 'image_invalid' });
});
