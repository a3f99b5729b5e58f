import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
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
import { type RealRegistry, startRegistry } from './real-registry.ts';
import { killed, processesWith, startResolver } from './resolver-process.ts';
import { file, tarOf } from './tar-writer.ts';
import { startTroubled, type TroubledRegistry } from './troubled-registry.ts';

if (!isRoot) test.skip('a pull that is cut short: needs root', () => {});

describe.runIf(isRoot)('a pull that is cut short', () => {
  let registry: RealRegistry;
  let stuck: TroubledRegistry;
  let whenStuck: Promise<void>;

  beforeAll(async () => {
    const folder = scratchFolder();
    registry = await startRegistry(folder);
    const numbers = Array.from({ length: 300_000 }, (_, n) => (n * 7919) % 99_991).join('\n');
    const layers = [{ tar: tarOf([file('small', 'x')]) }, { tar: tarOf([file('a', numbers), file('large', numbers)]) }];
    registry.push(writeLayout(join(folder, 'layout'), layers), 'large:one');
  }, 120_000);
  afterAll(async () => {
    await registry?.stop();
    removeScratch();
  });

  /** A registry that stops in the middle of the large layer, and says so. */
  async function startStuck(): Promise<void> {
    let tell = () => {};
    whenStuck = new Promise((done) => {
      tell = done;
    });
    stuck = await startTroubled(registry.host, (_, response, pass) => {
      const write = response.write.bind(response);
      let sent = 0;
      response.write = ((chunk: Buffer) => {
        sent += chunk.length;
        if (sent < 300_000) return write(chunk);
        tell();
        return false;
      }) as typeof response.write;
      pass();
    });
  }

  test('by its signal, leaves nothing but whole layers, and can be had again', async () => {
    await startStuck();
    const { images, folder } = freshImages();
    const controller = new AbortController();
    const pull = images.resolve(imageOf(`${stuck.host}/large:one`), { signal: controller.signal });
    pull.catch(() => {});
    await whenStuck;
    await vi.waitUntil(() => contents(folder).layers?.length === 1, { timeout: 30_000 });
    controller.abort(new Error('enough'));
    await expect(pull).rejects.toThrow('enough');
    expect(contents(folder)).toEqual({ ...nothing, layers: [expect.any(String)] });
    expect(processesWith(folder)).toEqual([]);
    await stuck.stop();
    const again = await images.resolve(imageOf(`${registry.host}/large:one`), { signal: soon() });
    expect(again.layers).toHaveLength(2);
  });

  test('by one of two who wait for it, goes on for the other', async () => {
    const { images } = freshImages();
    const controller = new AbortController();
    const os = imageOf(`${registry.host}/large:one`);
    const first = images.resolve(os, { signal: controller.signal });
    const second = images.resolve(os, { signal: soon() });
    first.catch(() => {});
    await new Promise((done) => setImmediate(done));
    controller.abort(new Error('enough'));
    await expect(first).rejects.toThrow('enough');
    expect((await second).layers).toHaveLength(2);
  });

  test('by kill -9, leaves nothing that is mistaken for a layer', async () => {
    await startStuck();
    const { images, folder } = freshImages();
    const child = startResolver(scratchFolder(), folder, imageOf(`${stuck.host}/large:one`));
    await whenStuck;
    await vi.waitUntil(() => contents(folder).layers?.length === 1, { timeout: 30_000 });
    await killed(child);
    await stuck.stop();
    await vi.waitUntil(() => processesWith(folder).length === 0, { timeout: 30_000 });
    expect(contents(folder)).toMatchObject({ layers: [expect.any(String)], images: [] });
    expect(contents(folder).making).not.toEqual([]);
    expect(await images.recover(soon())).not.toEqual([]);
    expect(contents(folder).making).toEqual([]);
    expect(await images.recover(soon())).toEqual([]);
    const again = await images.resolve(imageOf(`${registry.host}/large:one`), { signal: soon() });
    expect(again.layers).toHaveLength(2);
  });

  test('a record without its layers is swept', async () => {
    const { images, folder } = freshImages();
    mkdirSync(join(folder, 'images'), { recursive: true });
    writeFileSync(join(folder, 'images', 'broken.json'), '{');
    expect(await images.recover(soon())).toEqual(['images/broken.json']);
    expect(readdirSync(join(folder, 'images'))).toEqual([]);
  });
});
