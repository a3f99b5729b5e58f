import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { openStore } from '../../packages/server/src/store/store.ts';
import { skip } from '../conformance/skips.ts';
import { SandboxWorld, spec, whyNoSandboxes } from './sandbox-world.ts';
import { chooseSeed, seeded } from './seeded.ts';

const kills = 5;
const pool = { min: 3, max: 6 };

/**
 * The server is killed with -9 while it refills a warm pool and hands its members out, and started again. What was
 * acknowledged is its owner's and works, nothing is handed out twice, and in the end nothing of it is on the machine.
 */
describe('kill -9 of a server with a warm pool', () => {
  const world = new SandboxWorld();
  afterAll(() => world.close());

  test(`${kills} kills hand nothing out twice and leave nothing on the machine`, {
    timeout: 180_000,
  }, async (context) => {
    if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
    const seed = chooseSeed();
    const random = seeded(seed);
    mkdirSync(join(world.folder, 'profiles'));
    writeFileSync(
      join(world.folder, 'profiles', 'warm.json'),
      JSON.stringify({ name: 'warm', version: 1, spec, pool }),
    );
    await world.start();
    const owners = new Map<string, string>();
    let taken = 0;
    // However slow the machine is, there is somebody to be handed out before the first kill.
    const ready = async () => (await world.client().pools.list())[0]?.ready ?? 0;
    await expect.poll(ready, { timeout: 120_000 }).toBeGreaterThan(0);
    for (let kill = 1; kill <= kills; kill += 1) {
      let goOn = true;
      const caisson = world.client();
      const work = async (name: string) => {
        for (let n = 0; goOn && n < 50; n += 1) {
          const one = `k${kill}-${name}-${n}`;
          const sandbox = await caisson.sandboxes.create({ profile: 'warm', name: one }).catch(() => undefined);
          if (!sandbox) continue;
          expect(owners.get(sandbox.id), `seed ${seed}: ${sandbox.id} was handed out twice`).toBeUndefined();
          owners.set(sandbox.id, one);
        }
      };
      const working = Promise.all(['a', 'b'].map(work));
      await new Promise((resolve) => setTimeout(resolve, 20 + random() * 600));
      taken += await caisson.pools.list().then(
        ([one]) => one?.taken ?? 0,
        () => 0,
      );
      goOn = false;
      await world.kill();
      await working;
      await world.start();
      for (const [id, name] of owners) {
        const sandbox = await world.client().sandboxes.get(id);
        expect(sandbox.record, `seed ${seed}, kill ${kill}`).toMatchObject({ name, state: 'ready' });
        expect((await sandbox.exec(['/bin/echo', name])).stdout).toBe(`${name}\n`);
        await world.note(sandbox);
      }
      for await (const sandbox of world.client().sandboxes.list())
        if (owners.has(sandbox.id) && random() < 0.7) {
          await sandbox.destroy();
          owners.delete(sandbox.id);
        }
    }
    expect(taken, 'nobody was given a member').toBeGreaterThan(0);
    const full = async () => (await world.client().pools.list())[0];
    await expect.poll(full, { timeout: 20_000 }).toMatchObject({ making: 0, problem: null });
    await world.client().pools.set('warm', { min: 0, max: 0 });
    await world.noteAll();
    await world.destroyAll();
    await expect.poll(() => membersOf(world.folder), { timeout: 20_000 }).toBe(0);
    await world.stop();
    expect(await world.leftovers(), `seed ${seed}`).toEqual([]);
  });
});

async function membersOf(folder: string): Promise<number> {
  const store = await openStore({ sqlite: join(folder, 'caisson.db') });
  try {
    return (await store.pools.members()).length;
  } finally {
    await store.close();
  }
}
