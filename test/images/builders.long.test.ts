import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseEndpoint } from '../../packages/server/src/drivers/docker/endpoint.ts';
import { DaemonPlace } from '../../packages/server/src/images/builders/buildkit/daemon-place.ts';
import { type RealEngine, startEngine, whyNoEngine } from '../real-engine.ts';
import { type BuildWorld, openRules, outcomes } from './build-world.ts';
import { BuildkitWorld } from './buildkit-world.ts';
import { explainedDifferences } from './explained-differences.ts';
import { differences, joinedTree } from './joined-tree.ts';
import { openBuildWorld } from './open-build-world.ts';

const why = whyNoEngine('docker');
/** Debian has none: whoever has one names it. */
const daemon = process.env.CAISSON_TEST_BUILDKIT_HOST;

describe.skipIf(why !== undefined)('a plan with packages', () => {
  let engine: RealEngine;
  let world: BuildkitWorld;
  let native: BuildWorld;

  beforeAll(async () => {
    engine = await startEngine('docker');
    native = await openBuildWorld();
    world = await BuildkitWorld.open(engine.host);
  }, 600_000);
  afterAll(async () => {
    await world?.close();
    await native?.close();
    await engine?.close();
  }, 120_000);

  const packages = ['git', 'iputils-ping', 'jq', 'python3-minimal', 'sudo', 'zsh'].map((nativeName) => ({
    ...{ id: nativeName, nativeName, packageManager: 'apt' },
  }));
  const users = [{ name: 'root', uid: 0, gid: 0, home: '/root', shell: '/usr/bin/zsh' }];
  const more = { packages, users } as never;
  const steps = ['git init -q project; cd project; echo a > a; git add a', 'python3 -c "print(1)" > /srv/one'];

  test('has the same tree from both builders, less what is explained', async () => {
    const plan = world.plan(steps, more);
    const built = await world.build(plan, { rules: openRules });
    const other = await native.build(plan, { rules: openRules });
    expect(outcomes(built.events)).toEqual(outcomes(other.events));
    const trees = [joinedTree(built.image.layers), joinedTree(other.image.layers)] as const;
    expect(trees[0].has('/usr/bin/git')).toBe(true);
    expect(differences(...trees, explainedDifferences)).toEqual([]);
    expect(built.image.billOfMaterials).toBe(other.image.billOfMaterials);
  });

  test.skipIf(daemon === undefined)('is built by a buildkitd, where one is named', async () => {
    world.place = new DaemonPlace(parseEndpoint(daemon ?? ''), world.packer);
    const { image } = await world.build(world.plan([...steps, 'echo daemon > /srv/two'], more), { rules: openRules });
    expect(readFileSync(join(image.layers.at(-1) ?? '', 'srv/two'), 'utf8')).toBe('daemon\n');
  });
});
