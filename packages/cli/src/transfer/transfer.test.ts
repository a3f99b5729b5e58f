import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Header, pack } from 'tar-stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { packFolder } from './pack-folder.ts';
import { baseName, parsePlace } from './place.ts';
import { unpackFolder } from './unpack-folder.ts';

let world: string;
let target: string;
let outside: string;
beforeEach(() => {
  world = mkdtempSync(join(tmpdir(), 'caisson-transfer-'));
  target = join(world, 'target');
  outside = join(world, 'outside');
  mkdirSync(target);
  mkdirSync(outside);
});
afterEach(() => rmSync(world, { recursive: true, force: true }));

const quiet = { skipped: () => {} };

async function unpack(members: readonly (Partial<Header> & { name: string; body?: string })[]) {
  const archive = pack();
  for (const { body, ...header } of members) archive.entry(header, body ?? '');
  archive.finalize();
  const skipped: string[] = [];
  const done = await unpackFolder(archive as unknown as AsyncIterable<Uint8Array>, target, {
    skipped: (path) => skipped.push(path),
  });
  return { ...done, skipped };
}

test.each([
  ['web:/a', { kind: 'sandbox', sandbox: 'web', path: '/a' }],
  ['web:a:b', { kind: 'sandbox', sandbox: 'web', path: 'a:b' }],
  ['./web:/a', { kind: 'local', path: './web:/a' }],
  ['/web:/a', { kind: 'local', path: '/web:/a' }],
  ['a/b', { kind: 'local', path: 'a/b' }],
  ['-', { kind: 'stream' }],
])('%s is %j', (text, place) => {
  expect(parsePlace(text)).toEqual(place);
});

test('a place in a sandbox needs a path, and some paths have no name', () => {
  expect(() => parsePlace('web:')).toThrow('has no path');
  expect(['/', '.', 'a/..', 'a/b/'].map(baseName)).toEqual([undefined, undefined, undefined, 'b']);
});

test('a folder that is packed and unpacked is the same, with modes, times and links', async () => {
  const from = join(world, 'from');
  mkdirSync(join(from, 'closed'), { recursive: true });
  writeFileSync(join(from, 'run'), 'x'.repeat(300_000), { mode: 0o751 });
  writeFileSync(join(from, 'closed', 'empty'), '');
  symlinkSync('/nowhere', join(from, 'closed', 'link'));
  chmodSync(join(from, 'closed'), 0o555);
  await unpackFolder(packFolder(from, quiet), target, quiet);
  expect(readFileSync(join(target, 'run'), 'utf8')).toHaveLength(300_000);
  expect(statSync(join(target, 'run')).mode & 0o7777).toBe(0o751);
  expect(Math.floor(statSync(join(target, 'run')).mtimeMs / 1000)).toBe(
    Math.floor(statSync(join(from, 'run')).mtimeMs / 1000),
  );
  expect(statSync(join(target, 'closed')).mode & 0o7777).toBe(0o555);
  expect(readlinkSync(join(target, 'closed', 'link'))).toBe('/nowhere');
  expect(readdirSync(join(target, 'closed'))).toEqual(['empty', 'link']);
});

test.each(['../evil', 'a/../../evil', '/evil', '..', 'a\u0000b'])('the hostile name %j ends the copy', async (name) => {
  // The writer of archives would clean the name: it is put into the header by hand.
  const archive = pack();
  archive.entry({ name: 'placeholder' }, 'x');
  archive.finalize();
  const pieces: Buffer[] = [];
  for await (const piece of archive as unknown as AsyncIterable<Buffer>) pieces.push(Buffer.from(piece));
  const bytes = Buffer.concat(pieces);
  bytes.fill(0, 0, 100).write(name, 0);
  bytes.fill(0x20, 148, 156);
  const sum = bytes.subarray(0, 512).reduce((all, byte) => all + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const source = (async function* () {
    yield bytes;
  })();
  const outcome = unpackFolder(source, target, quiet);
  // A header ends its name at a NUL, so the rest of it never arrives.
  if (name.includes('\0')) await outcome;
  else await expect(outcome).rejects.toMatchObject({ code: 'file_invalid' });
  expect(existsSync(join(world, 'evil'))).toBe(false);
});

test('nothing is written through a link that came before it', async () => {
  const link = { name: 'a', type: 'symlink', linkname: outside } as const;
  await expect(unpack([link, { name: 'a/evil', body: 'x' }])).rejects.toMatchObject({ code: 'file_invalid' });
  await expect(unpack([link, { name: 'a/b', type: 'directory' }])).rejects.toMatchObject({ code: 'file_invalid' });
  await expect(unpack([{ name: 'a', type: 'directory' }])).rejects.toMatchObject({ code: 'file_invalid' });
  expect(readdirSync(outside)).toEqual([]);
});

test('nothing is written through a link that was there before', async () => {
  symlinkSync(outside, join(target, 'mine'));
  await expect(unpack([{ name: 'mine/evil', body: 'x' }])).rejects.toMatchObject({ code: 'file_invalid' });
  expect(readdirSync(outside)).toEqual([]);
});

test('a file replaces a link of its name and leaves what the link leads to alone', async () => {
  writeFileSync(join(outside, 'precious'), 'mine');
  await unpack([
    { name: 'f', type: 'symlink', linkname: join(outside, 'precious') },
    { name: 'f', body: 'theirs' },
  ]);
  expect(readFileSync(join(outside, 'precious'), 'utf8')).toBe('mine');
  expect(lstatSync(join(target, 'f')).isFile()).toBe(true);
});

test('a folder is never replaced by a link', async () => {
  const members = [
    { name: 'd', type: 'directory' },
    { name: 'd/in', body: 'x' },
    { name: 'd', type: 'symlink', linkname: outside },
    { name: 'd/evil', body: 'x' },
  ] as const;
  await expect(unpack(members)).rejects.toThrow();
  expect(readdirSync(outside)).toEqual([]);
});

test('a hard link reaches files of the archive and nothing else', async () => {
  writeFileSync(join(outside, 'precious'), 'mine');
  await unpack([
    { name: 'f', body: 'x' },
    { name: 'g', type: 'link', linkname: 'f' },
  ]);
  expect(readFileSync(join(target, 'g'), 'utf8')).toBe('x');
  const through = { name: 's', type: 'symlink', linkname: outside } as const;
  const reach = { name: 'h', type: 'link', linkname: 's/precious' } as const;
  await expect(unpack([through, reach])).rejects.toMatchObject({ code: 'file_invalid' });
  const away = { name: 'h', type: 'link', linkname: '../outside/precious' } as const;
  await expect(unpack([away])).rejects.toMatchObject({ code: 'file_invalid' });
});

test('devices and pipes are refused, and setuid never comes along', async () => {
  const { entries, skipped } = await unpack([
    { name: 'disk', type: 'block-device', devmajor: 8 },
    { name: 'zero', type: 'character-device', devmajor: 1, devminor: 5 },
    { name: 'pipe', type: 'fifo' },
    { name: 'root', body: 'x', mode: 0o4755 },
  ]);
  expect(skipped).toEqual(['disk', 'zero', 'pipe']);
  expect(entries).toBe(1);
  expect(readdirSync(target)).toEqual(['root']);
  expect(statSync(join(target, 'root')).mode & 0o7777).toBe(0o755);
});

test('an archive that breaks off is an error, and leaves no half file', async () => {
  const source = (async function* () {
    const archive = pack();
    archive.entry({ name: 'f' }, 'x'.repeat(100_000));
    archive.finalize();
    for await (const piece of archive as unknown as AsyncIterable<Uint8Array>) {
      yield piece.subarray(0, 600);
      throw new Error('gone');
    }
  })();
  await expect(unpackFolder(source, target, quiet)).rejects.toThrow('gone');
  expect(readdirSync(target)).toEqual([]);
});
