import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { guestProgram } from '../../packages/server/src/backends.ts';
import { unpackTar } from '../../packages/server/src/images/unpack.ts';
import { type ZipBounds, zipTar } from '../../packages/server/src/sandbox/sources/zip-tar.ts';
import { type ZipMember, zipOf } from './zip-writer.ts';

const scratch = mkdtempSync(join(tmpdir(), 'caisson-zip-'));
afterAll(() => rmSync(scratch, { recursive: true }));
const { signal } = new AbortController();
const waiting = join(scratch, 'waiting');
const limits = { bytes: 1_000_000, entries: 100, ratio: 50, freeBytes: 100_000 };

async function* inPieces(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 100) yield bytes.subarray(at, at + 100);
}

async function unpack(zip: Buffer, bounds: ZipBounds = limits): Promise<string> {
  const folder = mkdtempSync(join(scratch, 'tree-'));
  const options = { guestProgram: guestProgram(), maxBytes: 1e9, maxEntries: 1e6, signal };
  await unpackTar(zipTar(inPieces(zip), waiting, bounds), folder, options);
  return folder;
}

test('files, folders, links, modes and long names of a zip are there', async () => {
  const long = `${'deep/'.repeat(40)}${'n'.repeat(150)}`;
  const folder = await unpack(
    zipOf([
      { name: 'empty/', mode: 0o040700 },
      { name: 'run.sh', content: '#!/bin/sh\n', mode: 0o100755 },
      { name: long, content: 'x'.repeat(70_000) },
      { name: 'link', content: '../anywhere', mode: 0o120777 },
      { name: 'größe ☂', content: '' },
    ]),
  );
  expect(readdirSync(folder).sort()).toEqual(['deep', 'empty', 'größe ☂', 'link', 'run.sh']);
  expect(readFileSync(join(folder, long), 'utf8')).toBe('x'.repeat(70_000));
  expect(lstatSync(join(folder, 'run.sh')).mode & 0o777).toBe(0o755);
  expect(lstatSync(join(folder, 'empty')).mode & 0o777).toBe(0o700);
  expect(readlinkSync(join(folder, 'link'))).toBe('../anywhere');
  expect(readdirSync(waiting)).toEqual([]);
});

test('an empty zip is an empty tree', async () => {
  expect(readdirSync(await unpack(zipOf([])))).toEqual([]);
});

const zeros = Buffer.alloc(200_000);
const many = (count: number, of: Partial<ZipMember> = {}) =>
  Array.from({ length: count }, (_, index) => ({ name: `f${index}`, ...of }));

test.each<[string, readonly ZipMember[], RegExp]>([
  ['leads out of its folder', [{ name: '../out' }], /\.\.\/out/],
  ['leads out in the middle', [{ name: 'a/../../out' }], /out/],
  ['begins at the root', [{ name: '/etc/passwd' }], /\/etc\/passwd/],
  ['leads out by backslashes', [{ name: '..\\out' }], /out/],
  ['has no name', [{ name: '' }], /leads out/],
  ['has a NUL in its name', [{ name: 'a\0b' }], /leads out/],
  ['is a device', [{ name: 'dev', mode: 0o020666 }], /neither a file/],
  ['is encrypted', [{ name: 'secret', flags: 0x801 }], /encrypted/],
  ['is a link to nothing', [{ name: 'link', mode: 0o120777 }], /leads nowhere/],
  ['is a link of a megabyte', [{ name: 'link', mode: 0o120777, content: 'x'.repeat(500_000) }], /link|times/],
  ['is longer than it says', [{ name: 'long', content: 'more than that', saidSize: 3 }], /bytes/],
  ['is shorter than it says', [{ name: 'short', content: 'less', saidSize: 5_000 }], /bytes/],
  ['is damaged', [{ name: 'bad', content: 'abc', saidSum: 7 }], /damaged/],
  ['blows up', [{ name: 'bomb', content: zeros }], /times its size/],
  [
    'is named again and again',
    [{ name: 'a', content: zeros.subarray(0, 90_000) }, ...many(20, { sharesContent: true })],
    /more than/,
  ],
  ['is one of too many', many(101), /members/],
  [
    'goes through a link',
    [
      { name: 'l', content: '/tmp', mode: 0o120777 },
      { name: 'l/out', content: 'x' },
    ],
    /l\/out|link|l/,
  ],
])('a zip is refused when a member of it %s, and nothing is left', async (_, members, message) => {
  await expect(unpack(zipOf(members))).rejects.toMatchObject({ message: expect.stringMatching(message) });
  expect(readdirSync(waiting)).toEqual([]);
});

test('whatever is broken of a zip, there is one error or a tree', async () => {
  const whole = zipOf([
    { name: 'a', content: 'one' },
    { name: 'b/c', content: 'two'.repeat(100) },
  ]);
  await fc.assert(
    fc.asyncProperty(fc.nat(whole.length - 1), fc.nat(255), fc.nat(whole.length), async (at, byte, length) => {
      const broken = Buffer.from(whole.subarray(0, length));
      if (at < length) broken[at] = byte;
      try {
        for await (const _ of zipTar(inPieces(broken), waiting, limits));
      } catch (error) {
        expect(error).toMatchObject({ code: 'source_failed' });
      }
    }),
    { numRuns: 200 },
  );
  expect(readdirSync(waiting)).toEqual([]);
});
