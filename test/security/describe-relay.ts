import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { slowness } from '../slowness.ts';
import type { EngineWorld } from './engine-attack.ts';
import { type Confined, compile, never } from './sandbox-world.ts';

/** The name that the guest of an engine listens by, as `talk` writes one without a file. */
const relay = '@caisson';

/** The way of the server into a sandbox of an engine leads through a socket inside, which others may dial. */
export function describeRelay(name: string, open: () => Promise<EngineWorld>): void {
  describe(`the guest's way in on ${name}`, () => {
    let world: EngineWorld;
    let sandbox: Confined;
    beforeAll(async () => {
      world = await open();
      sandbox = await world.launch();
      await sandbox.guest.files.write('/talk', compile('talk.c'), { user: 'root', mode: 0o755 });
    }, 60_000 * slowness);
    afterAll(() => world.close(), 60_000 * slowness);

    const isBack = () =>
      expect.poll(() => sandbox.isWell().catch(() => false), { timeout: 30_000 * slowness, interval: 100 }).toBe(true);

    test('the user is told nothing there, and changes nothing', async () => {
      const connection = sandbox.guest.connection;
      const argv = ['/talk', relay, '1'];
      const input = randomBytes(100);
      const { stdout } = await sandbox.guest.processes.exec(argv, { user: 'user', input, timeoutMs: 10_000 });
      expect(stdout.length).toBe(0);
      expect(sandbox.guest.connection).toBe(connection);
      expect(await sandbox.isWell()).toBe(true);
    });

    test('two hundred diallers of the user do not keep out a server that comes back', async () => {
      const argv = ['/talk', relay, '200'];
      const noise = await sandbox.guest.processes.spawn({ argv, user: 'user', attach: false });
      const next = await world.again();
      try {
        const guest = await next.guest(sandbox.key, never);
        const { stdout } = await guest.processes.exec(['/bin/echo', 'back'], { timeoutMs: 30_000 * slowness });
        expect(stdout.toString()).toBe('back\n');
        await guest.processes.attach(noise.id).signal(9);
      } finally {
        await next.close();
      }
      await isBack();
    });

    test('root inside who dials in its place is cut off, and the server comes back to the same processes', async () => {
      const sleeper = await sandbox.guest.processes.spawn({ argv: ['/bin/sleep', '60'], attach: false });
      const argv = ['/talk', relay, '1'];
      // It takes the connection of whoever asked for it along.
      await sandbox.guest.processes
        .exec(argv, { user: 'root', input: randomBytes(100), timeoutMs: 10_000 })
        .catch(() => {});
      await isBack();
      expect((await sandbox.guest.processes.list()).map(({ id }) => id)).toContain(sleeper.id);
      await sandbox.guest.processes.attach(sleeper.id).signal(9);
    });

    test('pipes in the place of the files that an engine reads hold up neither it nor the end of the sandbox', async () => {
      const trapped = await world.launch();
      await trapped.sh('rm /etc/passwd /etc/group; mkfifo /etc/passwd /etc/group');
      const next = await world.again();
      const guest = await next.guest(trapped.key, never);
      await expect(guest.ping(AbortSignal.timeout(2_000))).rejects.toBeDefined();
      await next.close();
      await world.driver.destroy(trapped.key, never);
      expect(await world.driver.inspect(trapped.key, never)).toEqual({ status: 'gone' });
    });

    test('root inside who ends the relays of the server is met by the next one', async () => {
      const line = 'for p in /proc/[0-9]*; do grep -qs relay $p/cmdline && kill -9 ${p#/proc/}; done';
      await sandbox.sh(line).catch(() => {});
      await isBack();
    });
  });
}
