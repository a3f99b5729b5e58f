import { existsSync, mkdirSync, readdirSync, renameSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type CollectLimits, collect, type ImageRoots } from '../../packages/server/src/images/collect.ts';
import type { BaseImage, Images } from '../../packages/server/src/images/images.ts';
import { parseReference, type RegistryReference } from '../../packages/server/src/images/reference.ts';
import { Shelf } from '../../packages/server/src/images/shelf.ts';
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
import { writeLayout } from './layout-writer.ts';
import { file, tarOf } from './tar-writer.ts';
import { startUploads } from './upload-registry.ts';

const day = 86_400_000;
const nobody: ImageRoots = { images: new Set(), layers: new Set() };
const atOnce: CollectLimits = { graceMs: 0, unusedMs: 0, unusedBytes: Number.MAX_SAFE_INTEGER };

if (!isRoot) test.skip('what nothing refers to: needs root', () => {});

describe.runIf(isRoot)('what nothing refers to', () => {
  let images: Images;
  let shelf: Shelf;
  let folder: string;
  const layouts: string[] = [];

  beforeAll(() => {
    const scratch = scratchFolder();
    const shared = { tar: tarOf([file('shared', 'x'.repeat(1000))]) };
    for (const name of ['a', 'b']) {
      const own = { tar: tarOf([file(name, name.repeat(5000))]) };
      layouts.push(writeLayout(join(scratch, name), [shared, own]));
    }
  });
  beforeEach(() => {
    ({ images, folder } = freshImages());
    shelf = new Shelf(images);
  });
  afterAll(removeScratch);

  const resolve = (n: number): Promise<BaseImage> => images.resolve(imageOf(layouts[n] ?? ''), { signal: soon() });
  const rooted = (image: Partial<{ images: string[]; layers: string[] }>) => async () => ({
    images: new Set(image.images ?? []),
    layers: new Set(image.layers ?? []),
  });
  const layerOf = (image: BaseImage, n: number) => (image.layers[n] ?? '').split('/').at(-1)?.replace('-', ':') ?? '';
  /** Times are those of the filesystem: a moment later what was just made is older than now. */
  const later = () => {
    const began = Date.now();
    return vi.waitUntil(() => Date.now() > began + 5, { interval: 2 });
  };
  const sweep = async (roots: () => Promise<ImageRoots> = async () => nobody, limits: Partial<CollectLimits> = {}) => {
    await later();
    return collect(shelf, roots, { ...atOnce, ...limits }, soon());
  };
  const age = (digest: string, ms: number) => {
    const then = new Date(Date.now() - ms);
    utimesSync(join(folder, 'images', `${digest.replace(':', '-')}.json`), then, then);
  };

  test('goes: the images, their layers and what was packed of them', async () => {
    const [a, b] = [await resolve(0), await resolve(1)];
    const uploads = await startUploads();
    const target = parseReference(`${uploads.host}/name:one`) as RegistryReference;
    await shelf.publish(a.digest, target, {}, { signal: soon(), progress: () => {} });
    await uploads.stop();
    expect(readdirSync(join(folder, 'blobs'))).toHaveLength(2);
    const gone = await sweep();
    expect(new Set(gone.images)).toEqual(new Set([a.digest, b.digest]));
    expect(gone.layers).toHaveLength(3);
    expect(gone.blobs).toBe(2);
    expect(gone.freedBytes).toBeGreaterThan(11_000);
    expect(contents(folder)).toEqual(nothing);
    for (const name of ['blobs', 'facts']) expect(readdirSync(join(folder, name))).toEqual([]);
    expect((await resolve(0)).layers.every((layer) => existsSync(layer))).toBe(true);
  });

  test('an image that something names stays with all of its layers', async () => {
    const [a, b] = [await resolve(0), await resolve(1)];
    const gone = await sweep(rooted({ images: [a.digest] }));
    expect(gone.images).toEqual([b.digest]);
    expect(gone.layers).toEqual([layerOf(b, 1)]);
    expect(a.layers.every((layer) => existsSync(layer))).toBe(true);
  });

  test('layers that a root filesystem stands on stay when their image is gone', async () => {
    const a = await resolve(0);
    const gone = await sweep(rooted({ layers: [layerOf(a, 0), layerOf(a, 1)] }));
    expect(gone).toMatchObject({ images: [a.digest], layers: [] });
  });

  test('what somebody holds, or asks for while it is looked for, stays', async () => {
    const [a, b] = [await resolve(0), await resolve(1)];
    const release = images.hold(a);
    const gone = await sweep(async () => {
      await resolve(1);
      return nobody;
    });
    expect(gone).toMatchObject({ images: [], layers: [] });
    release();
    expect((await sweep()).images).toHaveLength(2);
    expect(existsSync(b.layers[1] ?? '')).toBe(false);
  });

  test('what is young stays, whatever names it', async () => {
    await resolve(0);
    expect(await sweep(undefined, { graceMs: 60_000 })).toMatchObject({ images: [], layers: [] });
  });

  test('an image that nothing uses stays for its time, and one that is kept for ever', async () => {
    const [a, b] = [await resolve(0), await resolve(1)];
    age(a.digest, 8 * day);
    await shelf.keep(b.digest);
    age(b.digest, 8 * day);
    expect((await sweep(undefined, { unusedMs: 7 * day })).images).toEqual([a.digest]);
    expect(await shelf.find(b.digest)).toMatchObject({ isKept: true });
    await shelf.remove(b.digest);
    expect((await sweep()).layers).toHaveLength(2);
  });

  test('of too much that nothing uses, the longest unused goes first', async () => {
    const [a, b] = [await resolve(0), await resolve(1)];
    age(a.digest, 2 * day);
    age(b.digest, 3 * day);
    const unusedBytes = (await shelf.find(a.digest))?.sizeBytes ?? 0;
    const gone = await sweep(undefined, { unusedMs: 7 * day, unusedBytes });
    expect(gone.images).toEqual([b.digest]);
  });

  test('a base that names an image which is gone is made again', async () => {
    const a = await resolve(0);
    const { records } = await images.workshop();
    const record = await records.read(a.digest);
    if (record) await records.writeBase('debian-x', record);
    await sweep();
    expect(readdirSync(join(folder, 'bases'))).toEqual([]);
    expect(await records.readBase('debian-x')).toBeUndefined();
  });

  test('a pass that was killed between records and layers is ended by the next', async () => {
    const a = await resolve(0);
    await shelf.remove(a.digest);
    mkdirSync(join(folder, 'making', 'half-deleted'));
    expect(await images.recover(soon())).toEqual(['making/half-deleted']);
    expect((await sweep()).layers).toHaveLength(2);
    const b = await resolve(1);
    await (await images.workshop()).drafts.use(async (draft) => {
      renameSync(b.layers[1] ?? '', join(draft, 'tree'));
    });
    expect(await shelf.list()).toEqual([]);
    expect((await resolve(1)).layers.every((layer) => existsSync(layer))).toBe(true);
  });

  test('beside others who resolve and use images, nothing is taken from under them', async () => {
    let isOver = false;
    const users = [0, 1, 0].map(async (n) => {
      for (let round = 0; round < 15; round++) {
        const image = await resolve(n);
        const release = images.hold(image);
        await new Promise((done) => setImmediate(done));
        for (const layer of image.layers) expect(existsSync(layer)).toBe(true);
        release();
      }
    });
    const sweeping = (async () => {
      let removed = 0;
      while (!isOver) removed += (await sweep()).layers.length;
      return removed;
    })();
    await Promise.all(users);
    isOver = true;
    expect((await sweeping) + (await sweep()).layers.length).toBeGreaterThanOrEqual(3);
    expect(contents(folder).making).toEqual([]);
  });
});
