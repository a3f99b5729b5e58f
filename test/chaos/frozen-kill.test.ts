import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { skip } from '../conformance/skips.ts';
import { sh, treeSum } from '../e2e/tree-sum.ts';
import { cgroupsOf } from './leftovers.ts';
import { SandboxWorld, spec, whyNoSandboxes } from './sandbox-world.ts';

const world = new SandboxWorld();
afterAll(() => world.close());

/** Whether its group stands still, or is about to, in whichever tree of groups there is. */
function isStill(sandbox: string): boolean {
  return cgroupsOf(new Set([sandbox])).some(
    (group) => /FR/.test(textOf(join(group, 'freezer.state'))) || textOf(join(group, 'cgroup.freeze')).trim() === '1',
  );
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

test('a sandbox that stood still for a snapshot when its server was killed moves again', {
  timeout: 90_000,
}, async (context) => {
  if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
  await world.start();
  const sandbox = await world.client().sandboxes.create({ spec });
  await world.note(sandbox);
  await sh(sandbox, 'cd /workspace; for i in $(seq 1 3000); do echo $i >f$i; done; head -c 64M /dev/urandom >big');
  const sum = await treeSum(sandbox);
  const counter = await sandbox.processes.start('i=0; while :; do i=$((i+1)); echo $i >/tmp/n; sleep 0.02; done');
  let met = false;
  for (let round = 0; round < 10 && !met; round += 1) {
    const taking = sandbox.snapshot().catch(() => {});
    const deadline = Date.now() + 2_000;
    while (!met && Date.now() < deadline) {
      met = isStill(sandbox.id);
      if (!met) await new Promise((resolve) => setImmediate(resolve));
    }
    if (!met) await taking;
  }
  expect(met, 'it was never seen to stand still').toBe(true);
  await world.kill();
  expect(isStill(sandbox.id)).toBe(true);
  await world.start();
  expect(isStill(sandbox.id)).toBe(false);
  expect((await counter.refresh()).running).toBe(true);
  const first = Number(await sh(sandbox, 'cat /tmp/n'));
  await expect.poll(async () => Number(await sh(sandbox, 'cat /tmp/n'))).toBeGreaterThan(first);
  expect(await treeSum(sandbox)).toBe(sum);
  // What was being taken is not there, and the next one is.
  const kept = (await world.client().snapshots.page({ sandbox: sandbox.id })).items.length;
  await sandbox.snapshot();
  expect((await world.client().snapshots.page({ sandbox: sandbox.id })).items).toHaveLength(kept + 1);
  await world.noteAll();
  await world.destroyAll();
  for await (const { id } of world.client().snapshots.list()) await world.client().snapshots.delete(id);
  await world.stop();
  expect(await world.leftovers()).toEqual([]);
});
