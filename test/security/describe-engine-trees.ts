import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '@caisson/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { slowness } from '../slowness.ts';
import type { EngineWorld } from './engine-attack.ts';
import { type Confined, compile, means, never } from './sandbox-world.ts';

/** What an engine does with a tree that a sandbox made, while the sandbox may still be at work in it. */
export function describeEngineTrees(
  name: string,
  open: () => Promise<EngineWorld>,
  /** Which of them, by their titles; all when absent. */
  only: (title: string) => boolean = () => true,
): void {
  const attack = (title: string, body: () => Promise<void>) => {
    if (only(title)) test(title, { timeout: 120_000 * slowness }, body);
  };

  describe(`trees of a sandbox of ${name}`, () => {
    let world: EngineWorld;
    let sandbox: Confined;
    beforeAll(async () => {
      world = await open();
      sandbox = await world.launch();
      for (const program of ['swap', 'dig'])
        await sandbox.guest.files.write(`/${program}`, compile(`${program}.c`), { user: 'root', mode: 0o755 });
    }, 60_000 * slowness);
    afterAll(() => world.close(), 60_000 * slowness);

    /** What a sandbox made from the snapshot says. */
    async function inFork(snapshot: ReturnType<typeof newId<'snapshot'>>, line: string): Promise<string> {
      const key = { sandbox: newId('sandbox'), incarnation: 1 };
      await world.driver.fork(snapshot, world.requestFor(key), never);
      try {
        return (await means(await world.driver.guest(key, never)).sh(line)).said;
      } finally {
        await world.driver.destroy(key, never);
      }
    }

    attack('a folder that turns into a link while a snapshot is taken leads to no file of the host', async () => {
      const outside = join(world.folder, 'outside');
      mkdirSync(outside);
      for (let n = 0; n < 50; n += 1) writeFileSync(join(outside, `secret-${n}`), 'of the host');
      await sandbox.sh(
        `mkdir -p /race/d && for n in $(seq 50); do echo own > /race/d/own-$n; done; ln -s ${outside} /race/l`,
      );
      const racer = await sandbox.guest.processes.spawn({ argv: ['/swap', '/race/d', '/race/l'], user: 'root' });
      for (let round = 0; round < 4; round += 1) {
        const id = newId('snapshot');
        // An engine may be held up by what changes below it; that is one clear failure, and no file of the host.
        const taken = await world.driver.snapshot(sandbox.key, id, never).then(
          () => true,
          (error) => expect(error).toMatchObject({ code: 'driver_failed' }),
        );
        if (taken === true) expect(await inFork(id, 'find /race -type f -name "secret-*"')).toBe('');
        await world.driver.removeSnapshot(id, never);
      }
      await racer.signal(9);
      expect((await racer.wait()).signal).toBe(9);
      await sandbox.sh('rm -rf /race');
    });

    attack('links and pipes are what they are in a snapshot', async () => {
      await sandbox.sh('mkdir /odd && cd /odd && ln -s /etc/shadow link && mkfifo pipe && ln -s loop loop');
      const id = newId('snapshot');
      await world.driver.snapshot(sandbox.key, id, never);
      const said = await inFork(id, 'readlink /odd/link /odd/loop; stat -c %F /odd/pipe');
      expect(said).toBe('/etc/shadow\nloop\nfifo\n');
      await world.driver.removeSnapshot(id, never);
    });

    attack('a tree deeper than any path is refused or kept, and goes with its sandbox', async () => {
      const deep = await world.launch();
      await deep.guest.files.write('/dig', compile('dig.c'), { user: 'root', mode: 0o755 });
      expect((await deep.sh('cd /tmp && /dig 500')).code).toBe(0);
      const id = newId('snapshot');
      await world.driver.snapshot(deep.key, id, never).catch((error) => expect(error.code).toBe('driver_failed'));
      await world.driver.removeSnapshot(id, never);
      await world.driver.destroy(deep.key, never);
      expect(await world.driver.inspect(deep.key, never)).toEqual({ status: 'gone' });
    });

    attack('a file that claims to be of a tebibyte does not become one on the disk of the engine', async () => {
      await sandbox.sh('truncate -s 1T /sparse');
      const taking = world.driver.snapshot(sandbox.key, newId('snapshot'), never);
      await expect(taking).rejects.toMatchObject({ code: 'disk_quota_exceeded' });
      await sandbox.sh('rm /sparse');
      const id = newId('snapshot');
      await world.driver.snapshot(sandbox.key, id, never);
      await world.driver.removeSnapshot(id, never);
    });
  });
}
