import { afterAll, describe, expect, test } from 'vitest';
import { namesOf } from '../../packages/server/src/drivers/docker/instance-name.ts';
import { skip } from '../conformance/skips.ts';
import { type RealEngine, startEngine, whyNoEngine } from '../real-engine.ts';
import { slowness } from '../slowness.ts';
import { describeCalls } from './describe-calls.ts';
import { describeConfinement } from './describe-confinement.ts';
import { engineAttack } from './engine-attack.ts';
import { compile, never } from './sandbox-world.ts';

/** Docker 20.10 forgets which error was asked for, unless it is told call by call. */
const EPERM = 1;
const files = ['/dev/.caisson/guest regular file', '/dev/.caisson/seccomp.json regular file'];

for (const name of ['docker', 'podman'] as const) {
  const missing = whyNoEngine(name);
  if (missing !== undefined) {
    test(`sandboxes of ${name} are attacked`, (context) => skip(context, missing));
    continue;
  }
  let starting: Promise<RealEngine> | undefined;
  const engine = () => {
    starting ??= startEngine(name);
    return starting;
  };
  const open = async () => engineAttack(await engine());
  afterAll(async () => (await starting)?.close(), 60_000 * slowness);

  describeCalls(name, open, name === 'docker' ? EPERM : undefined);
  describeConfinement(name, open, { userNamespace: false, files });

  describe(`what a sandbox of ${name} can use up and find out`, () => {
    test('a fork bomb meets the limit of processes, and the guest answers', async () => {
      const world = await open();
      const { guest, key } = await world.launch({ pids: 64 });
      await guest.files.write('/bomb', compile('bomb.c'), { user: 'root', mode: 0o755 });
      const process = await guest.processes.spawn({ argv: ['/bomb', 'processes'], attach: false });
      await expect
        .poll(async () => (await world.driver.stats(key, never)).processes, { timeout: 10_000 * slowness })
        .toBeGreaterThanOrEqual(60);
      expect(await guest.ping()).toBeLessThan(2_000 * slowness);
      await process.signal(9);
      await world.close();
    });

    test("the guest's secret is not to be read anywhere on the engine", async () => {
      const world = await open();
      const { key, guest } = await world.launch();
      const { engine: api } = await engine();
      const { container } = namesOf(key);
      const { body } = await api.call<object>('GET', `/containers/${container}/json`, { signal: never });
      const secret = Buffer.from(guest.connection?.hello.secret ?? []);
      expect(secret.length).toBe(32);
      for (const form of ['hex', 'base64', 'latin1'] as const)
        expect(JSON.stringify(body)).not.toContain(secret.toString(form));
      const said = await guest.processes.exec(['/bin/sh', '-c', 'cat /proc/*/cmdline /proc/*/environ 2>/dev/null'], {
        user: 'root',
      });
      expect(said.stdout.includes(secret)).toBe(false);
      await world.close();
    });
  });
}
