import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { slowness } from '../slowness.ts';
import { floodSlowReader } from './output-flood.ts';
import { type AttackWorld, type Confined, never } from './sandbox-world.ts';

/** What a sandbox writes and nobody reads. `bytes`: how much of it, for somebody who reads slowly. */
export function describeOutput(name: string, open: () => Promise<AttackWorld>, bytes = 256 * 1024 * 1024): void {
  describe(`what a sandbox of ${name} writes`, () => {
    let world: AttackWorld;
    let sandbox: Confined;
    beforeAll(async () => {
      world = await open();
      sandbox = await world.launch();
    }, 60_000 * slowness);
    afterAll(() => world.close(), 60_000 * slowness);

    test('output to a slow reader waits in the sandbox, and neither the guest nor the server grows', async () => {
      await floodSlowReader(sandbox, bytes, 3);
    });

    test('a program that nobody reads stands still', async () => {
      const writer = await sandbox.guest.processes.spawn({ argv: ['yes'], attach: false });
      await delay(300);
      const cpu = async () => (await world.driver.stats(sandbox.key, never)).cpuSeconds;
      const before = await cpu();
      await delay(500);
      expect((await cpu()) - before).toBeLessThan(0.2);
      await writer.signal(9);
    });
  });
}
