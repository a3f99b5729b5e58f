import type { SandboxHandle } from '@caisson/sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { skip } from '../conformance/skips.ts';
import { SandboxWorld, spec, whyNoSandboxes } from './sandbox-world.ts';

const persistent = { ...spec, runtime: { ...spec.runtime, persistence: 'persistent' } };
const limited = { ...persistent, runtime: { ...persistent.runtime, resources: { diskMiB: 64 } } };
const world = new SandboxWorld();
beforeAll(async () => {
  if (whyNoSandboxes === undefined) await world.start();
});
afterAll(() => world.close());

test('a restart of the machine loses the processes and nothing else', { timeout: 120_000 }, async (context) => {
  if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
  const { sandboxes } = world.client();
  const kept = await sandboxes.create({ spec: persistent });
  const small = await sandboxes.create({ spec: limited });
  const brief = await sandboxes.create({ spec });
  const named = await sandboxes.ensure({ spec, name: 'named' });
  const namedKept = await sandboxes.ensure({ spec: persistent, name: 'named-kept' });
  const left = await sandboxes.create({ spec });
  const all = [kept, small, brief, named, namedKept, left];
  for (const sandbox of all) {
    await world.note(sandbox);
    await sandbox.files.write('/workspace/file', sandbox.id);
  }
  await world.stop();
  await world.wipe();
  await world.start();

  for (const sandbox of all) {
    const { state, reason } = (await sandbox.refresh()).record;
    expect({ state, code: reason?.code }).toEqual({ state: 'failed', code: 'instance_gone' });
  }
  for (const sandbox of [kept, small]) {
    await sandbox.start();
    expect(await fileOf(sandbox)).toBe(sandbox.id);
  }
  await brief.recreate();
  expect(await fileOf(brief)).toBe('nothing');
  const ensured = await sandboxes.ensure({ spec, name: 'named' });
  expect(ensured.record).toMatchObject({ id: named.id, state: 'ready', incarnation: 2 });
  expect(await fileOf(ensured)).toBe('nothing');
  const ensuredKept = await sandboxes.ensure({ spec: persistent, name: 'named-kept' });
  expect(ensuredKept.id).toBe(namedKept.id);
  expect(await fileOf(ensuredKept)).toBe(namedKept.id);
  for (const sandbox of [kept, small, brief, ensured, ensuredKept]) await world.note(await sandbox.refresh());
  await world.destroyAll();
  await world.stop();
  expect(await world.leftovers()).toEqual([]);
});

async function fileOf(sandbox: SandboxHandle): Promise<string> {
  const { stdout } = await sandbox.exec('cat /workspace/file 2>/dev/null || printf nothing');
  return stdout;
}
