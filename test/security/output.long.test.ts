import { test } from 'vitest';
import { floodSlowReader } from './output-flood.ts';
import { SandboxWorld } from './sandbox-world.ts';

test('ten gigabytes of output to a slow reader pass through, and nothing grows', async () => {
  const world = await SandboxWorld.open('runc');
  try {
    await floodSlowReader(await world.launch(), 10 * 1024 ** 3, 20);
  } finally {
    await world.close();
  }
});
