import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CaissonError } from '@caisson/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RealEngine } from '../real-engine.ts';
import { slowness } from '../slowness.ts';
import type { EngineWorld } from './engine-attack.ts';
import { hostileImages, hostState } from './hostile-images.ts';
import { never } from './sandbox-world.ts';

/** Images shaped against whoever starts them: an engine has its own ways with each, and must not be led astray by one. */
export function describeEngineImages(name: string, open: () => Promise<EngineWorld>, only?: readonly string[]): void {
  describe(`an image that means harm, on ${name}`, () => {
    let world: EngineWorld;
    let tree: string;
    beforeAll(async () => {
      world = await open();
      tree = await treeOf(world.real);
    }, 60_000 * slowness);
    afterAll(async () => {
      await world.close();
      rmSync(tree, { recursive: true, force: true });
    }, 60_000 * slowness);

    const chosen = Object.entries(hostileImages).filter(([title]) => only?.includes(title) ?? true);
    test.each(chosen)(
      '%s: it is refused with a reason, or does no harm',
      async (_, spoil) => {
        const before = hostState();
        const image = await spoiled(world.real, tree, spoil);
        try {
          const sandbox = await world.launch({ image });
          expect(await sandbox.isWell()).toBe(true);
          // Masked and read-only as anywhere.
          expect((await sandbox.sh('echo x > /proc/sys/kernel/core_pattern')).code).not.toBe(0);
          expect((await sandbox.sh('head -c 10 /proc/timer_list 2>/dev/null | wc -c')).said).toBe('0\n');
          expect((await sandbox.sh('cat /etc/shadow')).said).toMatch(/No such file/);
          await world.driver.destroy(sandbox.key, never);
        } catch (error) {
          if (!(error instanceof CaissonError)) throw error;
          expect(error.code).toMatch(/^(driver_failed|driver_timeout|guest_failed|image_invalid)$/);
          expect(error.message.length).toBeGreaterThan(30);
        }
        expect((await world.driver.list(never)).instances).toEqual([]);
        expect(hostState()).toEqual(before);
      },
      90_000 * slowness,
    );
  });
}

/** The files of the usual image, in a folder of the host. */
async function treeOf({ engine, image, folder }: RealEngine): Promise<string> {
  const body = { Image: image.reference, Cmd: ['/bin/true'] };
  const { body: made } = await engine.call<{ Id: string }>('POST', '/containers/create', { body, signal: never });
  const { body: tar } = await engine.call<Buffer>('GET', `/containers/${made.Id}/export`, { signal: never });
  await engine.call('DELETE', `/containers/${made.Id}`, { signal: never });
  const tree = mkdtempSync(join(folder, 'tree-'));
  execFileSync('tar', ['-x', '-C', tree, '--exclude=dev/*'], { input: tar });
  return tree;
}

async function spoiled({ engine, folder }: RealEngine, tree: string, spoil: (layer: string) => void) {
  const layer = mkdtempSync(join(folder, 'spoiled-'));
  cpSync(tree, layer, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
  spoil(layer);
  const tar = execFileSync('tar', ['-c', '-C', layer, '.'], { maxBuffer: 1 << 29 });
  rmSync(layer, { recursive: true });
  const query = { fromSrc: '-', repo: 'localhost/spoiled', tag: 'latest' };
  await engine.upload('POST', '/images/create', tar, { query, signal: never });
  const { body } = await engine.call<{ Id: string }>('GET', '/images/localhost/spoiled:latest/json', { signal: never });
  const reference = body.Id.startsWith('sha256:') ? body.Id : `sha256:${body.Id}`;
  return { reference, digest: reference };
}
