import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { floodSlowReader } from './output-flood.ts';
import { type Attacked, never, SandboxWorld } from './sandbox-world.ts';

let world: SandboxWorld;
let sandbox: Attacked;
beforeAll(async () => {
  world = await SandboxWorld.open('runc');
  sandbox = await world.launch();
});
afterAll(() => world.close());

test('output to a slow reader waits in the sandbox, and neither the guest nor the server grows', async () => {
  await floodSlowReader(sandbox, 256 * 1024 * 1024, 3);
});

test('a program that nobody reads stands still', async () => {
  const writer = await sandbox.guest.processes.spawn({ argv: ['yes'], attach: false });
  await delay(300);
  const cpu = async () => (await world.driver.stats(sandbox.key, never)).cpuSeconds;
  const before = await cpu();
  await delay(500);
  expect((await cpu()) - before).toBeLessThan(0.2);
  await writer.signal(9);
});
