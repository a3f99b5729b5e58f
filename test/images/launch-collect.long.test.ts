import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { hasCode } from '@caisson/contract';
import { Caisson, type SandboxHandle } from '@caisson/sdk';
import { afterAll, describe, expect, test } from 'vitest';
import { buildGuest } from '../../packages/guest/build.mjs';
import { chooseSeed, seeded } from '../chaos/seeded.ts';
import { slowness } from '../slowness.ts';
import { bundleWorker } from './bundle-worker.ts';
import { isRoot, removeScratch, scratchFolder } from './images-folder.ts';
import { writeLayout } from './layout-writer.ts';
import { killed } from './resolver-process.ts';
import { directory, file, tarOf } from './tar-writer.ts';

const rounds = 6;
const names = ['a', 'b', 'c'];
const transient = /^(requested|building|provisioning|destroying)$/;
const patience = { timeout: 60_000 * slowness, interval: 100 };

/** Images are collected all the time while others launch from them, and the server is killed in between. */
describe.runIf(isRoot)('launches beside a collector', () => {
  const scratch = scratchFolder();
  const data = join(scratch, 'data');
  const worker = bundleWorker('collecting-server.ts');
  let child: ChildProcess | undefined;
  let collected = 0;
  afterAll(async () => {
    if (child) await killed(child);
    // Of a run that failed, sandboxes may be left.
    const last = await start();
    for await (const sandbox of last.sandboxes.list()) await sandbox.destroy();
    await killed(child as ChildProcess);
    rmSync(worker.folder, { recursive: true, force: true });
    removeScratch();
  }, 60_000 * slowness);

  const shared = { tar: tarOf([directory('etc'), directory('tmp', { mode: 0o1777 }), file('etc/shared', 'all\n')]) };
  const specs = names.map((name) => {
    const layout = writeLayout(join(scratch, name), [shared, { tar: tarOf([file(`etc/${name}`, `${name}\n`)]) }]);
    return {
      source: { kind: 'none' },
      os: { family: 'image', reference: layout },
      runtime: { network: { mode: 'off' } },
    };
  });

  async function start(): Promise<Caisson> {
    const env = { ...process.env, CAISSON_GUEST_PROGRAM: buildGuest({ quiet: true }) };
    child = spawn(process.execPath, [worker.program, data], { stdio: ['ignore', 'pipe', 'inherit'], env });
    const lines = createInterface({ input: child.stdout as NonNullable<ChildProcess['stdout']> });
    lines.on('line', (line) => {
      collected += Number(/^collected (\d+)/.exec(line)?.[1] ?? 0);
    });
    const [url] = (await once(lines, 'line')) as [string];
    return new Caisson({ baseUrl: url, retries: 0 });
  }

  /** All of its files are there, those of both layers. */
  async function expectWhole(sandbox: SandboxHandle): Promise<void> {
    const name = sandbox.record.labels.image ?? '';
    expect(await sandbox.files.readText('/etc/shared')).toBe('all\n');
    expect(await sandbox.files.readText(`/etc/${name}`)).toBe(`${name}\n`);
  }

  /** Makes one after the other, until the server is gone. Between two of them its image may be collected. */
  async function launchOn(caisson: Caisson, n: number, random: () => number, isOver: () => boolean): Promise<number> {
    for (let made = 0; ; made += 1) {
      try {
        const labels = { image: names[n] ?? '' };
        const sandbox = await caisson.sandboxes.create({ spec: specs[n] as never, labels, waitSeconds: 60 });
        await expectWhole(sandbox);
        await sandbox.destroy();
        await delay(random() * 800);
      } catch (error) {
        if (isOver()) return made;
        throw error;
      }
    }
  }

  test(
    `over ${rounds} kills, nothing is taken from under a sandbox`,
    async () => {
      const seed = chooseSeed();
      const random = seeded(seed);
      for (let round = 0; round < rounds; round += 1) {
        const caisson = await start();
        let isOver = false;
        const lanes = names.map((_, n) => launchOn(caisson, n, random, () => isOver));
        const first = Promise.race(lanes);
        // What fails before its time is told at once.
        await Promise.race([first, delay(2_000 + random() * 2_000)]);
        isOver = true;
        await killed(child as ChildProcess);
        const made = await Promise.all(lanes);
        expect(made.length, `seed ${seed}, round ${round}`).toBe(names.length);
        const next = await start();
        const all: SandboxHandle[] = [];
        for await (const sandbox of next.sandboxes.list()) all.push(sandbox);
        for (const sandbox of all) {
          await expect.poll(async () => (await sandbox.refresh()).state, patience).not.toMatch(transient);
          // What was being made goes on, and what was being destroyed is gone.
          expect(
            ['ready', 'destroyed'],
            `seed ${seed}, round ${round}: ${JSON.stringify(sandbox.record.reason)}`,
          ).toContain(sandbox.record.state);
          if (sandbox.record.state === 'destroyed') continue;
          await expectWhole(sandbox);
          await sandbox.destroy().catch((error) => {
            if (!hasCode(error, 'sandbox_not_found')) throw error;
          });
        }
        await killed(child as ChildProcess);
      }
      expect(collected).toBeGreaterThan(0);
    },
    300_000 * slowness,
  );
});
