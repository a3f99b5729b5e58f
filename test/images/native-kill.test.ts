import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { slowness } from '../slowness.ts';
import { BuildKills } from './build-kills.ts';
import { outcomes } from './build-world.ts';
import { isRoot } from './images-folder.ts';
import { killed, processesWith } from './resolver-process.ts';

if (!isRoot) test.skip('kill -9 of a server that builds: needs root', () => {});

describe.runIf(isRoot)('kill -9 of a server that builds', () => {
  let kills: BuildKills;
  beforeAll(async () => {
    kills = await BuildKills.open();
  }, 180_000 * slowness);
  afterAll(() => kills?.close());

  test('in a step leaves a room that the next server ends, and the steps before', async () => {
    const { world } = kills;
    const before = 'echo one > a';
    const child = kills.start([before, 'echo begun; exec sleep 987654']);
    await until(child.lines, 'begun');
    await killed(child);
    await world.start();
    expect(world.remains()).not.toEqual([]);
    await kills.settled();
    expect(processesWith('987654')).toEqual([]);
    const { events } = await world.build(world.plan([before, 'echo two > b']));
    expect(outcomes(events)).toEqual(['setup-s0 cached', 'setup-s1 done']);
  });
});

async function until(lines: AsyncIterable<string>, text: string): Promise<void> {
  for await (const line of lines) if (line.includes(`"text":"${text}`)) return;
  throw new Error(`it ended without ${text}`);
}
