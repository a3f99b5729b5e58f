import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, expect, test } from 'vitest';
import { skip } from '../conformance/skips.ts';
import { caissonBin } from '../server-process.ts';
import { SandboxWorld, spec, whyNoSandboxes } from './sandbox-world.ts';

const world = new SandboxWorld();
afterAll(() => world.close());

test('servers that are killed during their first start leave nothing', { timeout: 120_000 }, async (context) => {
  if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
  // Somewhere in here it tries the runtimes that it finds.
  for (let ms = 250; ms < 700; ms += 30) {
    const args = [caissonBin, 'serve', '--data', world.folder, '--driver', 'oci', '--log-level', 'silent'];
    const child = spawn(process.execPath, args, { stdio: 'ignore' });
    const ended = once(child, 'exit');
    await new Promise((resolve) => setTimeout(resolve, ms));
    child.kill('SIGKILL');
    await ended;
  }
  await world.start();
  const sandbox = await world.client().sandboxes.create({ spec });
  await world.note(sandbox);
  await sandbox.destroy();
  await world.stop();
  expect(await world.leftovers()).toEqual([]);
});
