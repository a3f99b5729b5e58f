import { execFileSync } from 'node:child_process';
import { lstatSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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
import { architecture, writeLayout } from './layout-writer.ts';
import { makeSampleImage, sampleLayers } from './sample-image.ts';
import { directory, file, hardLink, tarOf } from './tar-writer.ts';

if (!isRoot) test.skip('images in folders and archives: needs root', () => {});

describe.runIf(isRoot)('images in folders and archives', () => {
  let folder: string;
  let layout: string;

  beforeAll(() => {
    folder = scratchFolder();
    layout = makeSampleImage(folder);
    const skopeo = (from: string, to: string) =>
      execFileSync('skopeo', ['--insecure-policy', 'copy', '--quiet', from, to], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
    skopeo(`oci:${layout}:sample`, `oci-archive:${folder}/oci.tar`);
    skopeo(`oci:${layout}:sample`, `docker-archive:${folder}/docker.tar:example/sample:one`);
    execFileSync('gzip', ['-k', join(folder, 'oci.tar'), join(folder, 'docker.tar')]);
  }, 120_000);
  afterAll(removeScratch);

  test('every form gives the same layers', async () => {
    const { images, folder: kept } = freshImages();
    const resolve = (reference: string) => images.resolve(imageOf(reference), { signal: soon() });
    const first = await resolve(`oci:${layout}:sample`);
    expect(first).toMatchObject({
      layers: { length: 3 },
      config: { env: { GREETING: 'hello=you' }, user: '1000:1000' },
    });
    const forms = [
      'oci-archive:oci.tar',
      'oci-archive:oci.tar.gz',
      'docker-archive:docker.tar',
      'docker-archive:docker.tar.gz',
    ];
    for (const form of [...forms.map((text) => text.replace(':', `:${folder}/`)), `oci:${layout}`])
      expect((await resolve(form)).layers).toEqual(first.layers);
    expect((await resolve(`docker-archive:${folder}/docker.tar:one`)).layers).toEqual(first.layers);
    expect(contents(kept).making).toEqual([]);
    expect(contents(kept).layers).toHaveLength(3);
  });

  test('what a layer removes becomes the marks of an overlay', async () => {
    const { images } = freshImages();
    const { layers } = await images.resolve(imageOf(`oci:${layout}:sample`), { signal: soon() });
    const [lower = '', middle = '', upper = ''] = layers;
    const mark = lstatSync(join(middle, 'etc', 'removed'));
    expect([mark.isCharacterDevice(), mark.rdev]).toEqual([true, 0]);
    expect(lstatSync(join(middle, 'gone')).isCharacterDevice()).toBe(true);
    const opaque = execFileSync('getfattr', ['-n', 'trusted.overlay.opaque', '--only-values', join(middle, 'hidden')]);
    expect(opaque.toString()).toBe('y');
    expect(readdirSync(join(upper, 'gone'))).toEqual(['new']);
    expect(statSync(join(lower, 'bin/tool')).ino).toBe(statSync(join(lower, 'bin/same')).ino);
    expect(sampleLayers).toHaveLength(layers.length);
  });

  test('the marks of one layer spare what the layer itself has, whatever the order', async () => {
    const { images } = freshImages();
    const tar = tarOf([
      file('a', 'mine\n'),
      file('.wh.a', ''),
      file('.wh.b', ''),
      file('b', 'mine\n'),
      file('.wh.d', ''),
      file('d/x', 'x'),
    ]);
    const { layers } = await images.resolve(imageOf(writeLayout(join(folder, 'order'), [{ tar }])), { signal: soon() });
    const [layer = ''] = layers;
    expect(readFileSync(join(layer, 'a'), 'utf8') + readFileSync(join(layer, 'b'), 'utf8')).toBe('mine\nmine\n');
    const opaque = execFileSync('getfattr', ['-n', 'trusted.overlay.opaque', '--only-values', join(layer, 'd')]);
    expect(opaque.toString()).toBe('y');
  });

  test('devices and attributes of the builder are left out, and the devices are told of', async () => {
    const { images } = freshImages();
    const tar = tarOf([
      directory('dev'),
      { name: 'dev/null', type: '3' },
      file('a', 'x', {
        pax: { 'SCHILY.xattr.trusted.overlay.redirect': '/etc', 'SCHILY.xattr.user.overlay.opaque': 'y' },
      }),
      hardLink('b', 'a'),
    ]);
    const image = await images.resolve(imageOf(writeLayout(join(folder, 'devices'), [{ tar }])), { signal: soon() });
    expect(image.notices).toEqual([expect.stringMatching(/^1 device files/)]);
    const [layer = ''] = image.layers;
    expect(readdirSync(join(layer, 'dev'))).toEqual([]);
    expect(execFileSync('getfattr', ['-d', '-m', '-', join(layer, 'a')]).toString()).toBe('');
  });

  test('a layer that comes twice is given once, at its upper place', async () => {
    const { images } = freshImages();
    const [one, two] = [tarOf([file('a', 'one')]), tarOf([file('a', 'two')])];
    const reference = writeLayout(join(folder, 'twice'), [{ tar: one }, { tar: two }, { tar: one }]);
    const { layers } = await images.resolve(imageOf(reference), { signal: soon() });
    expect(layers.map((layer) => readFileSync(join(layer, 'a'), 'utf8'))).toEqual(['two', 'one']);
  });

  test('an image that is not there is not found, and nothing is told of the file that is', async () => {
    const { images, folder: kept } = freshImages();
    const secret = join(folder, 'secret');
    writeFileSync(secret, 'a secret of the machine\n'.repeat(100));
    const cases: [string, string][] = [
      [`oci:${folder}/none`, 'image_not_found'],
      [`oci:${secret}`, 'image_not_found'],
      [`oci:${layout}:other`, 'image_not_found'],
      [`oci-archive:${secret}`, 'image_invalid'],
      [`docker-archive:${folder}/oci.tar`, 'image_not_found'],
      [`docker-archive:${folder}/docker.tar:two`, 'image_not_found'],
      [`oci-archive:${folder}`, 'image_not_found'],
    ];
    for (const [reference, code] of cases) {
      const error = await images.resolve(imageOf(reference), { signal: soon() }).catch((thrown: unknown) => thrown);
      expect(error, reference).toMatchObject({ code });
      expect(JSON.stringify(error) + String(error)).not.toContain('a secret of');
    }
    expect(contents(kept)).toEqual(nothing);
  });

  test('a server that names its folders takes images from nowhere else, links included', async () => {
    const allowed = scratchFolder();
    symlinkSync(layout, join(allowed, 'link'));
    const { images } = freshImages({ localFolders: [allowed] });
    for (const path of [layout, join(allowed, 'link'), `${allowed}/../${layout.slice(5)}`])
      await expect(images.resolve(imageOf(`oci:${path}`), { signal: soon() })).rejects.toMatchObject({
        code: 'image_not_found',
      });
    const { images: other } = freshImages({ localFolders: [folder] });
    expect((await other.resolve(imageOf(`oci:${layout}`), { signal: soon() })).layers).toHaveLength(3);
  });

  test('an index gives the image for this machine', async () => {
    const place = join(folder, 'index');
    writeLayout(place, [{ tar: tarOf([file('a', 'x')]) }]);
    const index = JSON.parse(readFileSync(join(place, 'index.json'), 'utf8'));
    const [mine] = index.manifests;
    const other = { ...mine, digest: `sha256:${'3'.repeat(64)}`, platform: { os: 'linux', architecture: 'pdp11' } };
    const text = Buffer.from(
      JSON.stringify({ schemaVersion: 2, manifests: [other, { ...mine, platform: { os: 'linux', architecture } }] }),
    );
    const digest = execFileSync('sha256sum', { input: text }).toString().slice(0, 64);
    writeFileSync(join(place, 'blobs/sha256', digest), text);
    writeFileSync(
      join(place, 'index.json'),
      JSON.stringify({ schemaVersion: 2, manifests: [{ digest: `sha256:${digest}`, size: text.length }] }),
    );
    const { images } = freshImages();
    expect((await images.resolve(imageOf(`oci:${place}`), { signal: soon() })).digest).toBe(mine.digest);
  });
});
