import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SandboxHandle } from '@caisson/sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SandboxWorld, spec, whyNoSandboxes } from '../chaos/sandbox-world.ts';
import { skip } from '../conformance/skips.ts';

const pool = { min: 2, max: 4 };
const world = new SandboxWorld();
const poolNow = async () => (await world.client().pools.list())[0];
/** As many as are wanted, which grows with what was asked for. */
const isFull = () =>
  expect
    .poll(
      async () => {
        const { ready = 0, wanted = 0, making = 0 } = (await poolNow()) ?? {};
        return ready >= pool.min && ready === wanted && making === 0;
      },
      { timeout: 30_000 },
    )
    .toBe(true);

beforeAll(async () => {
  if (whyNoSandboxes !== undefined) return;
  mkdirSync(join(world.folder, 'profiles'));
  writeFileSync(join(world.folder, 'profiles', 'warm.json'), JSON.stringify({ name: 'warm', version: 1, spec, pool }));
  await world.start(['--destroy-on-exit']);
}, 120_000);
afterAll(() => world.close());

/** What a sandbox can see of itself, without what is each one's own. */
async function seenInside(sandbox: SandboxHandle): Promise<string[]> {
  const script =
    'env | sort; id; pwd; ls -la /workspace /tmp /home/user; ls / /dev; cat /proc/1/cmdline | tr "\\0" " "; mount';
  const { stdout } = await sandbox.exec(['/bin/sh', '-c', script]);
  const own = stdout.replaceAll(sandbox.id, 'ID').replace(/\d{4}-\d\d-\d\d|\w{3} +\d+ \d\d:\d\d/g, 'TIME');
  return own
    .replaceAll(/(u|g)id=\d{7,}/g, 'ID')
    .replaceAll(/[^ ,:=]*\/(run|storage)\/[^ ,:]*|loop\d+|\/req\w+/g, 'PATH')
    .split('\n');
}

describe('a warm pool of real sandboxes', () => {
  test('a sandbox from it is the same as one that is made now', async (context) => {
    if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
    await isFull();
    const caisson = world.client();
    const warm = await caisson.sandboxes.create({ profile: 'warm', labels: { a: 'b' }, ttlSeconds: 600 });
    expect(await poolNow()).toMatchObject({ taken: 1, misses: 0 });
    await caisson.pools.set('warm', { min: 0, max: 0 });
    const cold = await caisson.sandboxes.create({ profile: 'warm', labels: { a: 'b' }, ttlSeconds: 600 });
    await world.note(warm);
    await world.note(cold);
    expect(await seenInside(warm)).toEqual(await seenInside(cold));
    expect((await warm.exec(['/bin/hostname'])).stdout).toBe(`${warm.id}\n`);
    expect(Object.keys(warm.record)).toEqual(Object.keys(cold.record));
    const { id, attempt, createdAt, updatedAt, readyAt, expiresAt, ...same } = cold.record;
    expect(warm.record).toMatchObject(same);
    await caisson.pools.set('warm', pool);
    await Promise.all([warm.destroy(), cold.destroy()]);
  });

  test('one whose guest is killed is not handed out', async (context) => {
    if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
    await isFull();
    const caisson = world.client();
    const runtime = await world.runtimeFolder();
    const instances = readdirSync(join(runtime, 'oci', 'instances'));
    for (const name of instances)
      process.kill(Number(readFileSync(join(runtime, 'oci', 'instances', name, 'pid'), 'utf8')), 'SIGKILL');
    const dead = instances.map((name) => name.split('.')[0]);
    const made = await Promise.all([1, 2].map(() => caisson.sandboxes.create({ profile: 'warm' })));
    for (const sandbox of made) {
      expect(dead).not.toContain(sandbox.id);
      expect((await sandbox.exec(['/bin/echo', 'x'])).stdout).toBe('x\n');
      await sandbox.destroy();
    }
    await isFull();
  });

  test('its members survive the server, and end with one that ends everything', async (context) => {
    if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
    await isFull();
    await world.kill();
    await world.start(['--destroy-on-exit']);
    await isFull();
    const sandbox = await world.client({ retries: 3 }).sandboxes.create({ profile: 'warm' });
    expect((await sandbox.exec(['/bin/echo', 'x'])).stdout).toBe('x\n');
    await world.note(sandbox);
    await world.stop();
    expect(await world.leftovers()).toEqual([]);
  });
});
