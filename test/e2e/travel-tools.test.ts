import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { SandboxWorld, spec, whyNoSandboxes } from '../chaos/sandbox-world.ts';
import { skip } from '../conformance/skips.ts';

/** Tools and time travel in one sandbox. */
const world = new SandboxWorld();
beforeAll(async () => {
  if (whyNoSandboxes === undefined) await world.start();
}, 120_000);
afterAll(() => world.close());
beforeEach((context) => {
  if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
});

test('a rollback is refused while tools run, and done when it is forced', async () => {
  const sandbox = await world.client().sandboxes.create({ spec });
  await sandbox.files.write('/workspace/f', 'one');
  await sandbox.snapshot({ name: 'one' });
  await sandbox.files.write('/workspace/f', 'two');
  const running = sandbox.tools.run('bash', { command: 'touch /tmp/running; sleep 60' }).then(
    ({ error }) => error?.code,
    (error) => error.code,
  );
  await expect.poll(async () => (await sandbox.exec('ls /tmp/running')).exitCode).toBe(0);
  await expect(sandbox.rollback('one')).rejects.toMatchObject({ code: 'tools_in_flight', context: { running: 1 } });
  expect((await sandbox.refresh()).state).toBe('ready');
  expect(await sandbox.files.readText('/workspace/f')).toBe('two');
  await sandbox.rollback('one', { force: true });
  expect(await running).toBe('rollback_in_progress');
  expect(await sandbox.files.readText('/workspace/f')).toBe('one');
  await sandbox.rollback('one');
  await sandbox.destroy();
});

test('a sandbox that asks for it has a snapshot after each tool, of which the oldest go', async () => {
  const sandbox = await world.client().sandboxes.create({ spec, snapshots: { perTool: true, keepTurns: 2 } });
  const kept = [];
  for (const text of ['one', 'two', 'three']) {
    const { snapshot } = await sandbox.tools.run('write_file', { path: '/workspace/f', content: text });
    kept.push(snapshot);
  }
  expect(kept.every((id) => id !== null)).toBe(true);
  const { snapshots } = world.client();
  const ids = async () => (await snapshots.page({ sandbox: sandbox.id, kind: 'tool' })).items.map(({ id }) => id);
  await expect.poll(ids).toEqual([kept[2], kept[1]]);
  expect(await snapshots.get(kept[1] ?? '')).toMatchObject({
    kind: 'tool',
    turn: null,
    labels: { tool: 'write_file' },
  });
  await sandbox.rollback(kept[1] ?? '');
  expect(await sandbox.files.readText('/workspace/f')).toBe('two');
  await sandbox.destroy();
});
