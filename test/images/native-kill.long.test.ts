import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chooseSeed, seeded } from '../chaos/seeded.ts';
import { BuildKills } from './build-kills.ts';
import { outcomes } from './build-world.ts';
import { isRoot } from './images-folder.ts';
import { killed } from './resolver-process.ts';

const rounds = 12;

describe.runIf(isRoot)('kill -9 of a server that builds, at any moment', () => {
  let kills: BuildKills;
  beforeAll(async () => {
    kills = await BuildKills.open();
  }, 600_000);
  afterAll(() => kills?.close(), 600_000);

  test(`${rounds} kills leave nothing but whole layers`, async () => {
    const { world } = kills;
    const seed = chooseSeed();
    const random = seeded(seed);
    const steps = [
      'seq 100000 > a',
      'head -c 60000000 /dev/urandom > b',
      'for n in $(seq 2000); do echo $n > f$n; done',
    ];
    for (let round = 0; round < rounds; round += 1) {
      // Each round its own: nothing of the one before is found.
      const own = steps.map((step) => `: ${seed} ${round}; ${step}`);
      const child = kills.start(own);
      for await (const line of child.lines) if (line.includes('step-began')) break;
      await new Promise((resolve) => setTimeout(resolve, random() * 2_500));
      await killed(child);
      await world.start();
      // Files whose room had no instance yet, or none any more, would wait for their grace time.
      await kills.settled({ atOnce: true });
      const { image, events } = await world.build(world.plan(own));
      expect(outcomes(events), `seed ${seed}, round ${round}`).toHaveLength(3);
      const last = image.layers.slice(-3).map((layer) => readdirSync(join(layer, 'workspace')).length);
      expect(last, `seed ${seed}, round ${round}`).toEqual([1, 1, 2000]);
      expect(world.remains()).toEqual([]);
      if (round < rounds - 1) await world.stop();
    }
  });
});
