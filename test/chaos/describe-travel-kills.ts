import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { openStore } from '../../packages/server/src/store/store.ts';
import { skip } from '../conformance/skips.ts';
import { poolsOf } from './leftovers.ts';
import { SandboxWorld, type StorageName, whyNoSandboxes } from './sandbox-world.ts';
import { chooseSeed, seeded } from './seeded.ts';
import { TravelClient } from './travel-client.ts';

/** From the start of the new server until everything that runs has answered. */
const backWithinMs = 40_000;

/**
 * The server is killed with -9 at random moments of keeping, changing and going back, and started again. No sandbox ever
 * has a tree that it was not told to have, every snapshot that is listed is whole, what stood still moves again, and when
 * everything has been removed nothing of it is left on the machine.
 */
export function describeTravelKills(storage: StorageName, kills: number): void {
  describe(`kill -9 of a server that travels in time on ${storage}`, () => {
    const world = new SandboxWorld({ storage });
    afterAll(() => world.close());

    test(`${kills} kills never give a wrong tree and leave nothing`, {
      timeout: 120_000 + kills * 10_000,
    }, async (context) => {
      if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
      const seed = chooseSeed();
      const random = seeded(seed);
      await world.start();
      const clients = Array.from({ length: 3 }, () => new TravelClient(world, random));
      for (let kill = 1; kill <= kills; kill += 1) {
        const when = `seed ${seed}, kill ${kill}`;
        let goOn = true;
        const caisson = world.client();
        const working = Promise.all(clients.map((client) => client.work(caisson, () => goOn)));
        working.catch(() => {});
        await new Promise((resolve) => setTimeout(resolve, 50 + random() * 800));
        goOn = false;
        await world.kill();
        await working;
        const began = performance.now();
        await world.start();
        await Promise.all(clients.map((client) => client.answered()));
        expect(performance.now() - began, when).toBeLessThan(backWithinMs);
        await Promise.all(clients.map((client) => client.check(world.client(), when)));
      }
      const when = `seed ${seed}, at the end`;
      await Promise.all(clients.map((client) => client.checkAll(world.client(), when)));
      await expectFilesAndRecordsAgree(world, when);
      await world.noteAll();
      await world.destroyAll();
      for await (const { id } of world.client().snapshots.list()) await world.client().snapshots.delete(id);
      await world.stop();
      expect(await world.leftovers(), when).toEqual([]);
      expect(await unfinished(world.folder), when).toEqual([]);
      expect(clients.reduce((sum, client) => sum + client.acknowledged, 0)).toBeGreaterThan(kills);
    });
  });
}

/** The reconciler removes what was cut short at its next pass. */
async function expectFilesAndRecordsAgree(world: SandboxWorld, when: string): Promise<void> {
  const listed: string[] = [];
  for await (const { id } of world.client().snapshots.list()) listed.push(id);
  const files = () => poolsOf(world.folder).flatMap((pool) => namesIn(join(pool, 'snapshots')));
  await expect.poll(() => files().sort(), { timeout: 30_000, message: when }).toEqual(listed.sort());
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Records of snapshots that are neither whole nor gone, of a server that has ended. */
async function unfinished(dataFolder: string): Promise<string[]> {
  const store = await openStore({ sqlite: join(dataFolder, 'caisson.db') });
  try {
    return (await store.snapshots.unfinished(100)).map(({ id, state }) => `${id} ${state}`);
  } finally {
    await store.close();
  }
}
