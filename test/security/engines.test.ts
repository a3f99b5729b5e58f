import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { namesOf } from '../../packages/server/src/drivers/docker/instance-name.ts';
import { skip } from '../conformance/skips.ts';
import { whyNoEngine } from '../real-engine.ts';
import { attackedEngine } from './attacked-engine.ts';
import { describeCalls } from './describe-calls.ts';
import { describeConfinement } from './describe-confinement.ts';
import { describeEngineImages } from './describe-engine-images.ts';
import { describeEngineTrees } from './describe-engine-trees.ts';
import { describeExhaustion } from './describe-exhaustion.ts';
import { describeFileApi } from './describe-file-api.ts';
import { describeHostFiles } from './describe-host-files.ts';
import { describeRelay } from './describe-relay.ts';
import { describeTrust } from './describe-trust.ts';
import { never } from './sandbox-world.ts';

/** Docker 20.10 forgets which error was asked for, unless it is told call by call. */
const EPERM = 1;
const files = ['/dev/.caisson/guest regular file', '/dev/.caisson/seccomp.json regular file'];
/** Of all that images may be shaped like, what an engine itself reads or mounts on. */
const someImages = ['its /etc/passwd and /etc/group are pipes'];
const isQuick = (title: string) => /^(links|a file)/.test(title);

/**
 * The attacks on sandboxes of engines; those that take their time are among the long tests. Not here: `guest-socket`, whose place is taken by the relay; `hostile-guest`, which is
 * the protocol above any stream; the disk's limit, which these engines do not set; `local-users` on files that are the
 * engine's own.
 */
for (const name of ['docker', 'podman'] as const) {
  const missing = whyNoEngine(name);
  if (missing !== undefined) {
    test(`sandboxes of ${name} are attacked`, (context) => skip(context, missing));
    continue;
  }
  const { engine, open, placesOf } = attackedEngine(name);

  describeCalls(name, open, name === 'docker' ? EPERM : undefined);
  describeConfinement(name, open, { userNamespace: false, files });
  if (name === 'docker') {
    describeExhaustion(name, open);
    describeHostFiles(name, open, { placesOf, ownSockets: ['caisson'] });
    describeFileApi(name, open);
    describeTrust(name, open);
    describeRelay(name, open);
    describeEngineTrees(name, open, isQuick);
    describeEngineImages(name, open, someImages);
  }

  describe(`what can be found out of a sandbox of ${name}`, () => {
    test("the guest's secret is not to be read anywhere on the engine, nor by other users of the machine", async () => {
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
      const folder = join(world.folder, 'secrets');
      const stranger = { uid: 54_321, gid: 54_321, cwd: '/', encoding: 'utf8' } as const;
      expect(readdirSync(folder).length).toBeGreaterThan(0);
      for (const file of readdirSync(folder))
        expect(spawnSync('cat', [join(folder, file)], stranger).stderr).toMatch(/Permission denied/);
      await world.close();
    });
  });
}
