import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { slowness } from '../slowness.ts';
import { type AttackWorld, type Confined, compile, never } from './sandbox-world.ts';

const mebibyte = 1024 * 1024;

/** What a sandbox can use up of memory, processes and descriptors, whoever started it. */
export function describeExhaustion(name: string, open: () => Promise<AttackWorld>): void {
  describe(`what a sandbox of ${name} can use up`, () => {
    let world: AttackWorld;
    let bomb: Buffer;

    beforeAll(async () => {
      world = await open();
      bomb = compile('bomb.c');
    }, 60_000 * slowness);
    afterAll(() => world.close(), 60_000 * slowness);

    async function launch(options: Parameters<AttackWorld['launch']>[0] = {}): Promise<Confined> {
      const sandbox = await world.launch(options);
      await sandbox.guest.files.write('/bomb', bomb, { user: 'root', mode: 0o755 });
      return sandbox;
    }

    test('a fork bomb meets the limit of processes, the guest answers, and a new exec says why it cannot', async () => {
      const { guest, key } = await launch({ pids: 64 });
      const process = await guest.processes.spawn({ argv: ['/bomb', 'processes'], attach: false });
      await expect
        .poll(async () => (await world.driver.stats(key, never)).processes, { timeout: 30_000 * slowness })
        .toBeGreaterThanOrEqual(63);
      expect((await world.driver.stats(key, never)).processes).toBeLessThanOrEqual(64);
      expect(await guest.ping()).toBeLessThan(2_000 * slowness);
      const refusals: unknown[] = [];
      for (let n = 0; n < 5; n += 1) await guest.processes.exec(['/bin/true']).catch((error) => refusals.push(error));
      expect(refusals.length).toBeGreaterThan(0);
      expect(refusals[0]).toMatchObject({
        context: { guestCode: 'limit_reached' },
        message: expect.stringMatching(/limit of processes/),
      });
      await process.signal(9);
      await expect
        .poll(async () => (await guest.processes.exec(['/bin/true']).catch(() => ({ code: 1 }))).code, {
          timeout: 5_000 * slowness,
        })
        .toBe(0);
    });

    test('a memory bomb is told to be out of memory, and the guest lives', async () => {
      const { guest, key, isWell } = await launch({ memoryMiB: 64 });
      for (const user of ['root', 'user']) {
        const { why, signal } = await guest.processes.exec(['/bomb', 'memory'], { user });
        expect({ why, signal }).toEqual({ why: 'out_of_memory', signal: 9 });
      }
      expect(await isWell()).toBe(true);
      expect(await world.driver.inspect(key, never)).toMatchObject({ status: 'running' });
    });

    test('files in memory count as memory, and have a limit of their own', async () => {
      const { key, sh, isWell } = await launch({ memoryMiB: 256 });
      const before = (await world.driver.stats(key, never)).memoryBytes;
      const { said } = await sh('cat /dev/zero > /dev/shm/full');
      expect(said).toMatch(/No space left on device/);
      const grown = (await world.driver.stats(key, never)).memoryBytes - before;
      expect(grown).toBeGreaterThan(60 * mebibyte);
      expect(grown).toBeLessThan(80 * mebibyte);
      expect(await isWell()).toBe(true);
    });

    test('a program that opens everything it can takes no descriptor from the guest', async () => {
      const { guest, isWell } = await launch();
      const all = await Promise.all([1, 2, 3, 4].map(() => guest.processes.exec(['/bomb', 'files'])));
      for (const { stdout, why } of all) {
        // Where the host allows very many, the memory that they take is used up first.
        if (why !== 'out_of_memory')
          expect(stdout.toString()).toMatch(/files after \d+: Too many open files|No file desc/);
      }
      expect(await isWell()).toBe(true);
    });

    test('ten thousand files in one folder are listed, and one more is told to be cut', async () => {
      const { guest, sh } = await launch();
      await sh('mkdir /dev/shm/many && cd /dev/shm/many && seq 10000 | xargs touch');
      const { entries, truncated } = await guest.files.list('/dev/shm/many', { maxEntries: 10_000 });
      expect([entries.length, truncated]).toEqual([10_000, false]);
      await sh('touch /dev/shm/many/last');
      expect(await guest.files.list('/dev/shm/many', { maxEntries: 10_000 })).toMatchObject({ truncated: true });
    });
  });
}
