import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, test, vi } from 'vitest';
import { Shelf } from '../../packages/server/src/images/shelf.ts';
import { buildCollector } from './collector-process.ts';
import { contents, freshImages, imageOf, isRoot, removeScratch, scratchFolder, soon } from './images-folder.ts';
import { writeLayout } from './layout-writer.ts';
import { killed, processesWith } from './resolver-process.ts';
import { file, tarOf } from './tar-writer.ts';

afterAll(removeScratch);

if (!isRoot) test.skip('a pass that is killed: needs root', () => {});

/** At moments that differ from run to run: whichever it is, the laws hold. */
const kills = 2;

test.runIf(isRoot)(
  'killed at any moment of collecting, what has a record is whole, and the rest is removed',
  async () => {
    const scratch = scratchFolder();
    const { folder } = freshImages();
    const shared = { tar: tarOf([file('shared', 'x'.repeat(100_000))]) };
    const references = ['a', 'b'].map((name) =>
      writeLayout(join(scratch, name), [shared, { tar: tarOf([file(name, name.repeat(200_000))]) }]),
    );
    const start = buildCollector(scratch, folder, references);
    for (let n = 0; n < kills; n++) {
      const child = start();
      if (child.stdout) await once(createInterface({ input: child.stdout }), 'line');
      await delay(Math.random() * 40);
      await killed(child);
      await vi.waitUntil(() => processesWith(folder).length === 0, { timeout: 30_000 });
      const { images } = freshImages({ folder });
      await images.recover(soon());
      expect(contents(folder).making).toEqual([]);
      expect(contents(folder).images).toHaveLength((await new Shelf(images).list()).length);
      for (const reference of references) {
        const image = await images.resolve(imageOf(reference), { signal: soon() });
        expect(image.layers.every((layer) => existsSync(layer))).toBe(true);
      }
    }
  },
  60_000,
);
