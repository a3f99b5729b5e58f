import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type BuildWorld, noNetwork, openRules, outcomes, outputOf } from './build-world.ts';
import { isRoot } from './images-folder.ts';
import { openBuildWorld } from './open-build-world.ts';

const worlds: BuildWorld[] = [];
async function open(storage: string): Promise<BuildWorld> {
  const world = await openBuildWorld({ storage });
  worlds.push(world);
  return world;
}
afterAll(async () => {
  for (const world of worlds) await world.close();
}, 600_000);

describe.runIf(isRoot)('a native build', () => {
  test.each(['overlay', 'btrfs'])(
    'on %s installs packages through the rules, and leaves no index and no log',
    async (storage) => {
      const world = await open(storage);
      const ping = { id: 'ping', nativeName: 'iputils-ping', packageManager: 'apt' as const };
      const plan = world.plan([], {
        packages: [ping],
        users: [{ name: 'root', uid: 0, gid: 0, home: '/root', shell: '/bin/bash' }],
      });
      await expect(world.build(plan, { rules: noNetwork })).rejects.toMatchObject({
        code: 'build_failed',
        context: { step: 'packages', exitCode: 100 },
      });
      const rules = { ...openRules, mode: 'allowlist' as const, allow: ['*.debian.org'] };
      const { image, events } = await world.build(plan, { rules });
      expect(outcomes(events)).toEqual(['packages done', 'users done']);
      expect(outputOf(events)).toContain('Setting up iputils-ping');
      const layer = image.layers[world.base.layers.length] ?? '';
      const files = readdirSync(layer, { recursive: true }).map(String);
      expect(files).toContain('usr/bin/ping');
      expect(files.filter((file) => /^var\/(log|cache\/apt)\/.*\.(log|bin|deb)$/.test(file))).toEqual([]);
      expect(files.filter((file) => file.startsWith('var/lib/apt/lists/') && file.includes('debian'))).toEqual([]);
      const bill = JSON.parse(image.billOfMaterials ?? '') as { components: { name: string; version?: string }[] };
      const status = readFileSync(join(layer, 'var/lib/dpkg/status'), 'utf8');
      const version = bill.components.find(({ name }) => name === 'iputils-ping')?.version;
      expect(status).toContain(`Version: ${version}\n`);
      // Nothing of it is any tenant's own, as long as it may reach the same.
      expect(outcomes((await world.build(plan, { rules, tenant: 'other' })).events)).toEqual([
        'packages cached',
        'users cached',
      ]);
      expect(world.remains()).toEqual([]);
    },
  );

  test('whose step fills its part of a btrfs pool says so', async () => {
    const world = await open('btrfs');
    const plan = world.plan(['head -c 200000000 /dev/urandom > large']);
    await expect(world.build(plan, { limits: { diskBytes: 32 * 1024 ** 2 } })).rejects.toMatchObject({
      code: 'disk_quota_exceeded',
      context: { step: 'setup-s0' },
    });
  });

  test('has at most as many layers as an image may have', async () => {
    const world = await open('overlay');
    const steps = Array.from({ length: 140 }, (_, n) => `echo ${n} > f${n}`);
    await expect(world.build(world.plan(steps))).rejects.toMatchObject({
      code: 'build_failed',
      message: expect.stringContaining('more than 128 layers'),
    });
  });
});
