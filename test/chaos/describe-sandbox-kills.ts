import { afterAll, describe, expect, test } from 'vitest';
import { skip } from '../conformance/skips.ts';
import { collectCount, countedIn, countingCommand } from './counter.ts';
import { SandboxClient } from './sandbox-client.ts';
import { SandboxWorld, spec, whyNoSandboxes } from './sandbox-world.ts';
import { chooseSeed, seeded } from './seeded.ts';

/** From the start of the new server until everything that runs has answered, most of the time; a busy machine has moments. */
const usuallyBackWithinMs = 5_000;

/**
 * The server is killed with -9 at random moments of creating, running commands, uploading and destroying, and started
 * again. What ran goes on and its output is whole; what was half-made is finished or removed; and when everything has been
 * destroyed nothing of it is left on the machine.
 */
export function describeSandboxKills(kills: number): void {
  describe('kill -9 of a server with real sandboxes', () => {
    const world = new SandboxWorld();
    afterAll(() => world.close());

    test(`${kills} kills lose nothing and leave nothing on the machine`, {
      timeout: 120_000 + kills * 8_000,
    }, async (context) => {
      if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
      const seed = chooseSeed();
      const random = seeded(seed);
      await world.start();
      const clients = Array.from({ length: 3 }, () => new SandboxClient(world, random));
      const witnesses = await Promise.all([true, false].map((sockets) => startWitness(world, sockets)));
      const backMs: number[] = [];
      for (let kill = 1; kill <= kills; kill += 1) {
        const when = `seed ${seed}, kill ${kill}`;
        let goOn = true;
        const caisson = world.client();
        const working = Promise.all(clients.map((client) => client.work(caisson, () => goOn)));
        await new Promise((resolve) => setTimeout(resolve, 20 + random() * 400));
        goOn = false;
        await world.kill();
        await working;
        const began = performance.now();
        await world.start();
        await Promise.all([...clients, ...witnesses].map((one) => one.answered()));
        backMs.push(performance.now() - began);
        for (const client of clients) await client.check(world.client(), when);
      }
      expect(backMs.sort((a, b) => a - b)[kills >> 1]).toBeLessThan(usuallyBackWithinMs);
      for (const witness of witnesses) expect(await witness.end(), `seed ${seed}`).toBeGreaterThan(kills);
      await world.noteAll();
      await world.destroyAll();
      await world.stop();
      expect(await world.leftovers(), `seed ${seed}`).toEqual([]);
      expect(clients.reduce((sum, client) => sum + client.acknowledged, 0)).toBeGreaterThan(kills);
    });
  });
}

/** A sandbox that lives through all of it, with a counter that one attachment follows from beginning to end. */
async function startWitness(world: SandboxWorld, sockets: boolean) {
  const sandbox = await world.client({ retries: 5, sockets }).sandboxes.create({ spec });
  await world.note(sandbox);
  const counter = await sandbox.processes.start(countingCommand, { outputWhenDetached: 'wait' });
  const followed = collectCount(counter);
  followed.catch(() => {});
  return {
    async answered() {
      expect((await counter.refresh()).running).toBe(true);
    },
    /** How far it counted. */
    async end(): Promise<number> {
      await counter.signal('SIGKILL');
      return countedIn(await followed, `${sandbox.id} followed ${sockets ? 'over a socket' : 'over requests'}`);
    },
  };
}
