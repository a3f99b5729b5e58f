import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '@caisson/contract';
import { HostClient } from '@caisson/guest';
import { buildSync } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildGuest } from '../../packages/guest/build.mjs';
import type { Storage } from '../../packages/server/src/storage/storage.ts';
import { isRoot, type LayeredKind, layeredWorld } from './layered-world.ts';

const never = new AbortController().signal;
const rounds = 8;

/** Law 2 under real `kill -9`, in the middle of everything that changes something. */
export function describeStorageKills(kind: LayeredKind): void {
  describe.runIf(isRoot)(`storage ${kind.name} under kill -9`, () => {
    const scratch = mkdtempSync(join(tmpdir(), 'caisson-worker-'));
    const worker = join(scratch, 'worker.mjs');
    beforeAll(() => {
      const entryPoints = [join(import.meta.dirname, 'storage-worker.ts')];
      const format = { bundle: true, platform: 'node', format: 'esm' } as const;
      buildSync({ entryPoints, outfile: worker, ...format, conditions: ['source'], logLevel: 'error' });
    });
    afterAll(() => rmSync(scratch, { recursive: true, force: true }));

    async function workAndDie(folder: string, afterMs: number): Promise<void> {
      const args = [worker, kind.name, folder, buildGuest({ quiet: true })];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
      await once(child.stdout, 'data');
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }

    test('what is listed is whole, and nothing half-done is left', { timeout: 120_000 }, async () => {
      const { folder, pool, image, close } = await layeredWorld(kind);
      try {
        for (let round = 0; round < rounds; round += 1) {
          await workAndDie(folder, Math.random() * 120);
          // Begins when what the killed one had begun is done.
          const waiting = new HostClient(buildGuest({ quiet: true }), { lock: join(folder, 'host.lock') });
          await waiting.ping();
          await waiting.close();
          const storage = kind.open(folder);
          await storage.recover(never);
          for (const name of ['making', 'trash']) expect(readdirSync(join(pool, name))).toEqual([]);
          await expectWhole(storage, image);
          await storage.close?.();
        }
      } finally {
        await close();
      }
    });
  });
}

async function expectWhole(storage: Storage, image: Parameters<Storage['prepare']>[0]['image']): Promise<void> {
  const { sandboxes, snapshots } = await storage.list(never);
  const read = (path: string, name: string) => {
    // Between the preparation and the first write there is none.
    if (!readdirSync(path).includes(name)) return '';
    return readFileSync(join(path, name), 'utf8');
  };
  for (const id of snapshots) {
    const sandbox = newId('sandbox');
    const { path } = await storage.clone(id, { sandbox }, never);
    expect(read(path, 'two')).toMatch(/^\d+$/);
    expect(read(path, 'one')).toBe(read(path, 'two'));
    await storage.destroy(sandbox, never);
  }
  for (const sandbox of sandboxes) {
    const { path } = await storage.prepare({ sandbox, image }, never);
    expect(readFileSync(join(path, 'etc/hostname'), 'utf8')).toBe('caisson\n');
    await storage.destroy(sandbox, never);
  }
  for (const id of snapshots) await storage.removeSnapshot(id, never);
  expect(await storage.list(never)).toEqual({ sandboxes: [], snapshots: [] });
}
