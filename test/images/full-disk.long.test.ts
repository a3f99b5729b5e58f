import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SmallDisk } from '../chaos/small-disk.ts';
import { type BuildWorld, outcomes } from './build-world.ts';
import { isRoot } from './images-folder.ts';
import { openBuildWorld } from './open-build-world.ts';

describe.runIf(isRoot)('a build on a server whose disk is full', () => {
  let disk: SmallDisk;
  let world: BuildWorld;

  beforeEach(async () => {
    disk = new SmallDisk(256);
    world = await openBuildWorld({ folder: disk.folder });
  }, 120_000);
  afterEach(async () => {
    disk.clear();
    await world?.close();
    disk.close();
  }, 120_000);

  /** At the first word of its last step there is no room any more. */
  const filling = (event: { kind: string; text?: string }) => {
    if (event.kind === 'output' && event.text?.includes('now')) disk.fill();
  };

  test.each([
    ['while a step writes', 'echo now; sleep 1; head -c 80000000 /dev/urandom > big; sync; cat big > /dev/null'],
    ['before what a step did is kept', 'head -c 80000000 /dev/urandom > big; sync; echo now; sleep 1'],
  ])(
    'fails with one clear error %s, leaves nothing, and goes on when there is room',
    async (_, step) => {
      const first = 'echo first > first';
      const failing = world.build(world.plan([first, step]), { tell: filling });
      await expect(failing).rejects.toMatchObject({
        code: expect.stringMatching(/^(storage_full|disk_quota_exceeded)$/),
        context: { step: 'setup-s1' },
      });
      expect(world.remains()).toEqual([]);
      disk.clear();
      const again = await world.build(world.plan([first, 'head -c 10000000 /dev/zero > small']));
      expect(outcomes(again.events)).toEqual(['setup-s0 cached', 'setup-s1 done']);
    },
    180_000,
  );
});
