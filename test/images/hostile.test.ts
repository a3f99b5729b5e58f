import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import {
  contents,
  freshImages,
  imageOf,
  isRoot,
  nothing,
  removeScratch,
  scratchFolder,
  soon,
} from './images-folder.ts';
import { type WrittenLayer, wrapIndex, writeLayout } from './layout-writer.ts';
import { directory, file, hardLink, symlink, type TarMember, tarOf } from './tar-writer.ts';

const bounds = {
  layerBytes: 4 * 1024 ** 2,
  layerEntries: 1000,
  layers: 4,
  configBytes: 10_000,
  compressedBytes: 10_000_000,
};

if (!isRoot) test.skip('a hostile image: needs root', () => {});

describe.runIf(isRoot)('a hostile image', () => {
  afterAll(removeScratch);

  async function refusal(layers: readonly WrittenLayer[], config: object = {}): Promise<unknown> {
    const { images, folder } = freshImages({ bounds });
    const reference = writeLayout(join(scratchFolder(), 'layout'), layers, config);
    const result = await images.resolve(imageOf(reference), { signal: soon() }).catch((error: unknown) => error);
    expect(contents(folder)).toEqual(nothing);
    return result;
  }

  const outside = '/tmp/caisson-escaped';
  const members: Record<string, [RegExp, TarMember[]]> = {
    'a name with `..`': [/has a `\.\.` in it/, [file('a/../../escaped', 'x')]],
    'a long name with `..`': [/has a `\.\.` in it/, [file('x', 'x', { pax: { path: 'b/../../escaped' } })]],
    'an absolute name': [/is absolute/, [file(outside, 'x')]],
    'a symbolic link and a file through it': [
      /used as a directory/,
      [symlink('out', '/tmp'), file('out/caisson-escaped', 'x')],
    ],
    'a relative link and a file through it': [
      /used as a directory/,
      [symlink('out', '../../..'), file('out/escaped', 'x')],
    ],
    'a link below a link': [
      /used as a directory/,
      [directory('a'), symlink('a/b', '/'), directory('a/b/tmp'), file('a/b/tmp/x', 'x')],
    ],
    'a hard link to outside': [/has a `\.\.` in it/, [hardLink('shadow', '../../../etc/shadow')]],
    'an absolute hard link': [/is absolute/, [hardLink('shadow', '/etc/shadow')]],
    'a hard link through a symbolic one': [/does not have/, [symlink('etc', '/etc'), hardLink('shadow', 'etc/shadow')]],
    'a hard link to nothing': [/does not have/, [hardLink('a', 'b')]],
    'a hard link to a directory': [/is no file/, [directory('b'), hardLink('a', 'b')]],
    'a file used as a folder': [/used as a directory/, [file('a', 'x'), file('a/b', 'x')]],
    'a file in the place of a full folder': [/has files/, [directory('a'), file('a/b', 'x'), file('a', 'x')]],
    'a mark that removes the parent': [/removes nothing/, [file('a/.wh...', '')]],
    'a mark used as a folder': [/used as a directory/, [file('.wh.a/b', 'x')]],
    'a member without a name': [/no name/, [file('', 'x')]],
    'a type that nobody knows': [/unknown type/, [{ name: 'a', type: 'Z' }]],
    'a sparse file': [/sparse/, [file('a', 'x', { pax: { 'GNU.sparse.major': '1' } })]],
    'an old sparse file': [/unknown type/, [{ name: 'a', type: 'S' }]],
    'a name with a NUL in it': [/not valid/, [file('x', 'x', { pax: { path: 'a\0b' } })]],
    'a name deeper than whoever removes it can say': [
      /longer than 3072/,
      [file('x', 'x', { pax: { path: `${'a/'.repeat(2000)}f` } })],
    ],
    'a name longer than a path': [/not valid/, [file('x', 'x', { pax: { path: 'a/'.repeat(3000) } })]],
    'a part of a name longer than a name': [/more than 255/, [file('x', 'x', { pax: { path: 'b'.repeat(300) } })]],
    'a target longer than a path': [/not valid/, [{ ...symlink('a', 'x'), pax: { linkpath: 'y'.repeat(5000) } }]],
    'a size below zero': [/not valid/, [file('a', 'x', { pax: { size: '-1' } })]],
    'an attribute that no filesystem keeps': [
      /cannot set the attribute/,
      [file('a', 'x', { pax: { 'SCHILY.xattr.user.a': 'b'.repeat(70_000) } })],
    ],
    'a capability that is none': [
      /cannot set the attribute/,
      [file('a', 'x', { pax: { 'SCHILY.xattr.security.capability': 'zz' } })],
    ],
    'a folder that becomes a link under what is in it': [
      /has files/,
      [directory('a'), file('a/b', 'x'), symlink('a', '/tmp'), file('a/caisson-escaped', 'x')],
    ],
    'a link in the place of an empty folder': [
      /used as a directory/,
      [directory('a'), { name: 'a/null', type: '3' }, symlink('a', '/tmp'), file('a/caisson-escaped', 'x')],
    ],
    'a file that claims more than there is': [/ends in the middle/, [file('a', 'x', { claimedSize: 1024 ** 2 })]],
  };

  test.each(Object.entries(members))('with %s is refused and leaves nothing', async (_, [why, list]) => {
    expect(await refusal([{ tar: tarOf(list) }])).toMatchObject({
      code: 'image_invalid',
      message: expect.stringMatching(why),
    });
    expect(existsSync(outside)).toBe(false);
  });

  const good = tarOf([file('a', 'content\n')]);
  const lies: Record<string, [RegExp, WrittenLayer]> = {
    'a layer of another digest': [/has the digest/, { tar: good, claim: { digest: `sha256:${'1'.repeat(64)}` } }],
    'a layer of another diff id': [/unpacks to/, { tar: good, claim: { diffId: `sha256:${'2'.repeat(64)}` } }],
    'a layer larger than promised': [/more than the 5 bytes/, { tar: good, claim: { size: 5 } }],
    'a layer smaller than promised': [/less than the 9999 bytes/, { tar: good, claim: { size: 9999 } }],
    'a layer cut in its compressed middle': [/decompress/, { tar: good, blob: gzipSync(good).subarray(0, 60) }],
    'a layer cut in its tar': [/not whole/, { tar: good.subarray(0, 700) }],
    'a layer that is no archive': [/header is not valid/, { tar: Buffer.alloc(2048, 'x') }],
    'a layer that is not what it is compressed as': [
      /decompress/,
      { tar: good, blob: Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3]) },
    ],
    'a zstd that is none': [/decompress/, { tar: good, blob: Buffer.from('28b52ffd0458ffffffffffffffffff', 'hex') }],
  };

  test.each(Object.entries(lies))('with %s is refused and leaves nothing', async (_, [why, layer]) => {
    expect(await refusal([layer])).toMatchObject({ code: 'image_invalid', message: expect.stringMatching(why) });
  });

  const bombs: Record<string, [RegExp, WrittenLayer[]]> = {
    'a layer that blows up': [
      /more than 4194304 bytes/,
      [{ tar: tarOf([file('zeros', '\0'.repeat(64 * 1024 ** 2))]) }],
    ],
    'more entries than a layer may have': [
      /more than 1000 entries/,
      [{ tar: tarOf(Array.from({ length: 1001 }, (_, n) => directory(`d${n}`))) }],
    ],
    'more folders than a layer may have, in fewer names': [
      /more than 1000 entries/,
      [{ tar: tarOf(Array.from({ length: 300 }, (_, n) => file(`d${n}/a/b/f`, ''))) }],
    ],
    'an extended header as large as the memory': [
      /extended header is larger/,
      [{ tar: tarOf([file('x', 'x', { pax: { comment: 'c'.repeat(1024 ** 2) } })]) }],
    ],
    'more layers than an image may have': [/has 5 layers/, Array.from({ length: 5 }, () => ({ tar: good }))],
    'more bytes than an image may have': [/bytes; 10000000 are allowed/, [{ tar: good, claim: { size: 10_000_001 } }]],
    'a zstd window as large as the memory': [
      /of memory/,
      [{ tar: good, blob: Buffer.from('28b52ffd00a800000000', 'hex') }],
    ],
  };

  test.each(Object.entries(bombs))('with %s is refused and leaves nothing', async (_, [why, layers]) => {
    expect(await refusal(layers)).toMatchObject({ code: 'image_too_large', message: expect.stringMatching(why) });
  });

  test('with indexes within indexes is followed a little, and no further', async () => {
    const [layout, { images, folder }] = [join(scratchFolder(), 'layout'), freshImages({ bounds })];
    const reference = writeLayout(layout, [{ tar: good }]);
    const resolve = () => images.resolve(imageOf(reference), { signal: soon() });
    wrapIndex(layout);
    await expect(resolve()).resolves.toMatchObject({ layers: [expect.any(String)] });
    for (let depth = 0; depth < 3; depth++) wrapIndex(layout);
    await expect(resolve()).rejects.toMatchObject({
      code: 'image_invalid',
      message: expect.stringMatching(/indexes within indexes/),
    });
    expect(contents(folder).making).toEqual([]);
  });

  test('whose index lists more than any has, or is nested as deep as it is long, is refused', async () => {
    const layout = join(scratchFolder(), 'layout');
    const reference = writeLayout(layout, [{ tar: good }]);
    const { images } = freshImages({ bounds });
    const many = Array.from({ length: 2000 }, (_, n) => ({ digest: `sha256:${String(n).padStart(64, '0')}`, size: 1 }));
    const nested = `{"schemaVersion":2,"manifests":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`;
    for (const text of [JSON.stringify({ schemaVersion: 2, manifests: many }), nested, '{"manifests":']) {
      writeFileSync(join(layout, 'index.json'), text);
      await expect(images.resolve(imageOf(reference), { signal: soon() })).rejects.toMatchObject({
        code: 'image_invalid',
      });
    }
  });

  test('for another kind of machine says which it is for', async () => {
    expect(await refusal([{ tar: good }], { architecture: 'pdp11' })).toMatchObject({
      code: 'unsupported-os',
      message: expect.stringMatching(/linux\/pdp11/),
    });
  });

  test('with a config of another shape is refused', async () => {
    expect(await refusal([{ tar: good }], { rootfs: { diff_ids: ['../../etc'] } })).toMatchObject({
      code: 'image_invalid',
    });
    expect(await refusal([{ tar: good }], { history: 'x'.repeat(20_000) })).toMatchObject({ code: 'image_too_large' });
  });
});
