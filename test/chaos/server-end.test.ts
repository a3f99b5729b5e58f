import { afterEach, expect, test } from 'vitest';
import { skip } from '../conformance/skips.ts';
import { countedSoFar, countingCommand } from './counter.ts';
import { SandboxWorld, spec, whyNoSandboxes } from './sandbox-world.ts';

const worlds: SandboxWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

function open(): SandboxWorld {
  const world = new SandboxWorld();
  worlds.push(world);
  return world;
}

test('a server that is told to end leaves its sandboxes running', async (context) => {
  if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
  const world = open();
  await world.start();
  const sandbox = await world.client().sandboxes.create({ spec });
  const pid = await world.note(sandbox);
  const counter = await sandbox.processes.start(countingCommand);
  await world.stop();
  expect(process.kill(pid, 0)).toBe(true);
  await world.start();
  expect((await counter.refresh()).running).toBe(true);
  expect(await countedSoFar(counter, sandbox.id)).toBeGreaterThan(0);
  await sandbox.destroy();
});

test('a server with --destroy-on-exit leaves nothing', async (context) => {
  if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
  const world = open();
  await world.start(['--destroy-on-exit']);
  const { sandboxes } = world.client();
  for (const sandbox of await Promise.all([1, 2, 3].map(() => sandboxes.create({ spec })))) {
    await world.note(sandbox);
    await sandbox.processes.start(countingCommand);
  }
  await world.stop();
  expect(await world.leftovers()).toEqual([]);
});
