import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { Shelf } from '../../packages/server/src/images/shelf.ts';
import { bundleProcess } from './bundled-process.ts';
import { contents, freshImages, imageOf, isRoot, removeScratch, scratchFolder, soon } from './images-folder.ts';
import { writeLayout } from './layout-writer.ts';
import { startRegistry } from './real-registry.ts';
import { processesWith } from './resolver-process.ts';
import { file, tarOf } from './tar-writer.ts';
import { startTroubled } from './troubled-registry.ts';

afterAll(removeScratch);

if (!isRoot) test.skip('a publisher that is killed: needs root', () => {});

test.runIf(isRoot)(
  'killed at each of its requests, a tag names nothing that is not whole, and the next one publishes it',
  async () => {
    const scratch = scratchFolder();
    const registry = await startRegistry(scratch);
    let child: ChildProcess | undefined;
    let [killAt, requests] = [0, 0];
    const front = await startTroubled(registry.host, (_, __, pass) => {
      requests += 1;
      // Before the registry hears of it, and after: in every other round.
      if (requests === killAt && killAt % 2 === 0) pass();
      if (requests === killAt) child?.kill('SIGKILL');
      else pass();
    });
    try {
      const layers = ['a', 'b'].map((name) => ({ tar: tarOf([file(name, name.repeat(400_000))]) }));
      const reference = writeLayout(join(scratch, 'layout'), layers);
      for (killAt = 1; ; killAt++) {
        const { images, folder } = freshImages();
        const { digest } = await images.resolve(imageOf(reference), { signal: soon() });
        const target = `${front.host}/killed-${killAt}:one`;
        const start = bundleProcess(
          scratch,
          folder,
          `await shelf.publish(${JSON.stringify(digest)}, parseReference(${JSON.stringify(target)}), {}, {
             signal, progress() {},
           });
           console.log('published');`,
        );
        requests = 0;
        child = start();
        const [code] = await once(child, 'exit');
        await vi.waitUntil(() => processesWith(folder).length === 0, { timeout: 60_000 });
        const wasWhole = code === 0;
        killAt = wasWhole ? Number.POSITIVE_INFINITY : killAt;
        const direct = target.replace(front.host, registry.host);
        // What can be had by the tag at all can be had whole.
        const pulled = await freshImages()
          .images.resolve(imageOf(direct), { signal: soon() })
          .catch((error: { code: string }) => error.code);
        if (typeof pulled === 'string') expect(pulled).toBe('image_not_found');
        await images.recover(soon());
        expect(contents(folder).making).toEqual([]);
        const again = new Shelf(images);
        const published = await again.publish(
          digest,
          images.access.reference(direct),
          {},
          { signal: soon(), progress() {} },
        );
        const found = await freshImages().images.resolve(imageOf(direct), { signal: soon() });
        expect(found.layers).toHaveLength(2);
        expect(published.digest).toMatch(/^sha256:/);
        if (wasWhole) break;
      }
      expect(requests).toBeGreaterThan(5);
    } finally {
      await front.stop();
      await registry.stop();
    }
  },
  600_000,
);
