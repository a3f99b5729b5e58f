import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '@caisson/contract';
import type { Caisson } from '@caisson/sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mountsBelow } from '../../packages/server/src/storage/layered/mounts.ts';
import { skip } from '../conformance/skips.ts';
import { slowness } from '../slowness.ts';
import { cgroupsOf } from './leftovers.ts';
import { SandboxWorld, spec, whyNoSandboxes } from './sandbox-world.ts';

const world = new SandboxWorld();
beforeAll(async () => {
  if (whyNoSandboxes === undefined) await world.start();
});
afterAll(() => world.close());

test('a server whose database is gone adopts what runs, and frees what nobody owns', {
  timeout: 90_000 * slowness,
}, async (context) => {
  if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
  const { sandboxes, keys } = world.client();
  const ours = await sandboxes.create({ spec, name: 'ours', labels: { team: 'blue' } });
  await ours.files.write('/workspace/file', 'mine');
  const running = await ours.exec('sleep 1000 >/dev/null 2>&1 & echo $!');
  const pid = await world.note(ours);
  const runtime = await world.runtimeFolder();
  const { secret } = await keys.create({ name: 'k', tenant: 'gone', project: 'p', principal: 'q', scope: 'use' });
  const theirs = await world.client({ apiKey: secret }).sandboxes.create({ spec });
  await world.note(theirs);
  await world.kill();
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(world.folder, `caisson.db${suffix}`), { force: true });
  const strayMount = join(runtime, 'rootfs', 'sbxstray', 'root');
  mkdirSync(strayMount, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', 'none', strayMount]);
  await world.start(['--orphan-grace', '0']);

  const again = await world.client().sandboxes.get(ours.id);
  expect(again.record).toMatchObject({ state: 'ready', name: 'ours', labels: { team: 'blue' }, incarnation: 1 });
  expect(await world.note(again)).toBe(pid);
  expect((await again.exec(`cat /workspace/file; kill -0 ${running.stdout.trim()} && echo alive`)).stdout).toBe(
    'minealive\n',
  );
  // Nobody made its tenant again: it was told, and ended with its files.
  expect(cgroupsOf(new Set([theirs.id]))).toEqual([]);
  expect(readdirSync(join(world.folder, 'storage', 'rootfs'))).toEqual([ours.id]);
  expect(await mountsBelow(strayMount)).toEqual([]);
  expect(existsSync(strayMount)).toBe(false);
  const told = await repairs(world.client());
  expect(told).toEqual(
    expect.arrayContaining(['leftover sbxstray', `unowned ${theirs.id}.1`, `filesystem ${theirs.id}`]),
  );
});

test('processes whose instance was taken away are ended, with their control group', {
  timeout: 90_000 * slowness,
}, async (context) => {
  if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
  const sandbox = await world.client().sandboxes.create({ spec });
  await world.note(sandbox);
  const groups = cgroupsOf(new Set([sandbox.id]));
  expect(groups).not.toEqual([]);
  const other = newId('sandbox');
  // A group that says nothing of us is somebody else's, even when it is empty.
  const strange = groups.map((path) => path.replace(sandbox.id, other));
  for (const path of strange) mkdirSync(path, { recursive: true });
  rmSync(join(await world.runtimeFolder(), 'oci', 'instances', `${sandbox.id}.1`), { recursive: true });

  await expect.poll(() => cgroupsOf(new Set([sandbox.id])), { timeout: 60_000 * slowness }).toEqual([]);
  expect((await sandbox.refresh()).record).toMatchObject({ state: 'failed', reason: { code: 'instance_gone' } });
  expect(strange.filter((path) => !existsSync(path))).toEqual([]);
  for (const path of strange) execFileSync('rmdir', [path]);
  await world.destroyAll();
  await world.stop();
  expect(await world.leftovers()).toEqual([]);
});

async function repairs(client: Caisson): Promise<string[]> {
  const found: string[] = [];
  for await (const { type, data } of client.events({ follow: false }))
    if (type === 'caisson.host.repair') found.push(`${data.kind} ${data.name}`);
  return found;
}
