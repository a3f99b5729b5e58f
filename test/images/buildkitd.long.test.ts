import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseEndpoint } from '../../packages/server/src/drivers/docker/endpoint.ts';
import { DaemonPlace } from '../../packages/server/src/images/builders/buildkit/daemon-place.ts';
import type { BaseImage } from '../../packages/server/src/images/images.ts';
import { slowness } from '../slowness.ts';
import { type BuildWorld, openRules, outcomes, outputOf } from './build-world.ts';
import { BuildkitWorld } from './buildkit-world.ts';
import { explainedDifferences } from './explained-differences.ts';
import { isRoot } from './images-folder.ts';
import { differences, joinedTree } from './joined-tree.ts';
import { openBuildWorld } from './open-build-world.ts';
import { type RealBuildkitd, startBuildkitd } from './real-buildkitd.ts';

describe.runIf(isRoot)('a build with a buildkitd', () => {
  let daemon: RealBuildkitd;
  let world: BuildkitWorld;
  let native: BuildWorld;

  beforeAll(async () => {
    daemon = await startBuildkitd();
    native = await openBuildWorld();
    world = await BuildkitWorld.open('unix:///nowhere');
    world.place = new DaemonPlace(parseEndpoint(daemon.address), world.packer);
  }, 900_000);
  afterAll(async () => {
    await world?.close();
    await native?.close();
    await daemon?.close();
  }, 120_000);

  const on = ({ digest }: BaseImage, steps: string[]) =>
    world.plan(steps, { os: { family: 'image' }, base: { kind: 'oci-archive', reference: 'x', digest } as never });

  test('gives the tree that the native builder gives', async () => {
    const plan = world.plan(['echo one > /srv/one; chmod 4711 /srv/one; ln /srv/one /srv/two', 'rm /etc/motd', 'true']);
    const built = await world.build(plan);
    const other = await native.build(plan);
    expect(outcomes(built.events)).toEqual(outcomes(other.events));
    const trees = [joinedTree(built.image.layers), joinedTree(other.image.layers)] as const;
    expect(differences(...trees, explainedDifferences)).toEqual([]);
  }, 300_000);

  test('stands on a base of several layers, which is sent once', async () => {
    const { image } = await world.build(world.plan(['echo first > /srv/first', 'echo second > /srv/second']));
    expect(image.layers.length).toBeGreaterThan(2);
    const before = daemon.bridge.carried;
    const first = await world.build(on(image, ['cat /srv/first /srv/second; echo third > /srv/third']));
    expect(outputOf(first.events)).toContain('first\nsecond\n');
    expect(first.image.layers).toEqual([...image.layers, expect.any(String)]);
    expect(readFileSync(join(first.image.layers.at(-1) ?? '', 'srv/third'), 'utf8')).toBe('third\n');
    const between = daemon.bridge.carried;
    await world.build(on(image, ['cat /srv/second; echo fourth > /srv/fourth']));
    const sent = [between - before, daemon.bridge.carried - between];
    // The program that runs steps goes with each build; a Debian has a hundred times as much.
    expect(Math.max(...sent)).toBeLessThan(20_000_000);
  }, 300_000);

  test('tells every step of many, and what of them is known', async () => {
    const steps = Array.from({ length: 11 }, (_, n) => `echo ${n} > /srv/${n}`);
    const first = await world.build(world.plan(steps));
    expect(outcomes(first.events)).toEqual(steps.map((_, n) => `setup-s${n} done`));
    const changed = await world.build(world.plan([...steps.slice(0, -1), 'echo other > /srv/other']));
    expect(outcomes(changed.events)).toEqual(steps.map((_, n) => `setup-s${n} ${n < 10 ? 'cached' : 'done'}`));
    const closed = await world.build(world.plan(steps), { rules: { ...openRules, mode: 'allowlist' } });
    expect(outcomes(closed.events)).toEqual(steps.map((_, n) => `setup-s${n} done`));
  }, 300_000);

  test('that is cancelled ends there, with everything that it ran', async () => {
    const abort = new AbortController();
    let cancelledAt = 0;
    const tell = ({ kind }: { kind: string }) => {
      if (kind !== 'output' || abort.signal.aborted) return;
      cancelledAt = performance.now();
      abort.abort();
    };
    const building = world.build(world.plan(['echo up; sleep 86397']), { signal: abort.signal, tell });
    await expect(building).rejects.toMatchObject({ code: 'action_cancelled', context: { step: 'setup-s0' } });
    await expect.poll(() => sleepers(), { timeout: 30_000 * slowness }).toEqual([]);
    expect(performance.now() - cancelledAt).toBeLessThan(20_000 * slowness);
  }, 120_000);
});

function sleepers(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8') === 'sleep\x0086397\0';
      } catch {
        return false;
      }
    });
}
