import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasCode } from '@caisson/contract';
import type { SandboxHandle } from '@caisson/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { SandboxWorld, spec, whyNoSandboxes } from '../chaos/sandbox-world.ts';
import { skip } from '../conformance/skips.ts';
import { sh, treeSum } from './tree-sum.ts';

const mebibytes = 400;
/** A data folder on a disk of its own, which is soon full; a pool of btrfs in it is full before. */
function smallDisk(): { readonly folder: string; close(): void } {
  const outside = mkdtempSync(join(tmpdir(), 'caisson-small-'));
  const [disk, folder] = [join(outside, 'disk'), join(outside, 'data')];
  mkdirSync(folder);
  execFileSync('truncate', ['-s', `${mebibytes}M`, disk]);
  execFileSync('mkfs.ext4', ['-q', '-F', '-m', '0', disk]);
  execFileSync('mount', ['-o', 'loop', disk, folder]);
  return { folder, close: () => rmSync(outside, { recursive: true, force: true }) };
}

const limited = { ...spec, runtime: { ...spec.runtime, resources: { diskMiB: 48 } } };

describe.each(['overlay', 'btrfs'] as const)('when there is no room left on %s', (storage) => {
  let world: SandboxWorld;
  let disk: ReturnType<typeof smallDisk>;

  beforeAll(async () => {
    if (whyNoSandboxes !== undefined) return;
    disk = smallDisk();
    world = new SandboxWorld({ storage, folder: disk.folder });
    await world.start();
  }, 120_000);
  afterAll(async () => {
    await world?.close();
    disk?.close();
  });
  beforeEach((context) => {
    if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
  });

  /** Somebody else takes the rest. The disk leaves the database a little; a pool is full before the disk is. */
  const fillUp = async (): Promise<{ empty(): Promise<unknown> }> => {
    if (storage === 'btrfs') {
      const other = await world.client().sandboxes.create({ spec });
      await other.exec('head -c 1G /dev/zero | tr "\\0" x >/workspace/filler; sync', { user: 'root' });
      return { empty: () => other.destroy() };
    }
    const file = join(disk.folder, 'filler');
    execFileSync('sh', ['-c', 'head -c 1G /dev/zero >"$1" 2>/dev/null; sync; truncate -s -2M "$1"; sync', 'sh', file]);
    return { empty: async () => rmSync(file) };
  };

  const names = async (sandbox: SandboxHandle) =>
    (await world.client().snapshots.page({ sandbox: sandbox.id })).items.map(({ name }) => name);

  test('a sandbox that has filled its own disk is kept and gone back to', async () => {
    const sandbox = await world.client().sandboxes.create({ spec: limited });
    await sandbox.files.write('/workspace/f', 'one');
    await sandbox.snapshot({ name: 'empty' });
    const { stderr } = await sandbox.exec('head -c 200M /dev/urandom >/workspace/big; echo end', { user: 'root' });
    expect(stderr).toMatch(/No space left|quota exceeded/i);
    const kept = await sandbox.snapshot({ name: 'full' }).then(
      () => true,
      (error) => {
        expect(hasCode(error, 'storage_full', 'disk_quota_exceeded'), String(error)).toBe(true);
        return false;
      },
    );
    expect(await names(sandbox)).toEqual(kept ? ['full', 'empty'] : ['empty']);
    expect((await sandbox.exec('echo up')).stdout).toBe('up\n');
    const sum = await treeSum(sandbox);
    if (kept) {
      await sandbox.rollback('full');
      expect(await treeSum(sandbox)).toBe(sum);
    }
    await sandbox.rollback('empty');
    expect(await sh(sandbox, 'ls /workspace')).toBe('f');
    await sh(sandbox, 'head -c 20M /dev/urandom >/workspace/again');
    await sandbox.destroy();
    for await (const { id } of world.client().snapshots.list()) await world.client().snapshots.delete(id);
  });

  test('a pool that is full says so, lists nothing half-made, and everything goes on', {
    timeout: 120_000,
  }, async () => {
    const sandbox = await world.client().sandboxes.create({ spec });
    const counter = await sandbox.processes.start('while :; do date >/tmp/tick; sleep 0.05; done');
    await sh(sandbox, 'head -c 90M /dev/urandom >/workspace/big; sync');
    let failure: unknown;
    const made: string[] = [];
    for (let round = 0; round < 8 && failure === undefined; round += 1) {
      // What is shared takes no room, so that each must have something of its own.
      if (storage === 'btrfs' && round > 0)
        await sandbox.exec('head -c 90M /dev/urandom >/workspace/big; sync', { user: 'root' });
      await sandbox.snapshot({ name: `s${round}` }).then(
        () => made.unshift(`s${round}`),
        (error) => {
          failure = error;
        },
      );
    }
    if (storage === 'overlay' || failure !== undefined)
      expect(hasCode(failure, 'storage_full'), String((failure as Error)?.message)).toBe(true);
    expect(made.length).toBeGreaterThan(0);
    expect(await names(sandbox)).toEqual(made);
    expect((await sandbox.exec('echo up')).stdout).toBe('up\n');
    expect((await counter.refresh()).running).toBe(true);
    expect((await sandbox.refresh()).record).toMatchObject({ state: 'ready', reason: null });
    for await (const { id } of world.client().snapshots.list()) await world.client().snapshots.delete(id);
    await sh(sandbox, 'rm -f /workspace/big; echo small >/workspace/f; sync');
    await expect
      .poll(() => sandbox.snapshot({ name: 'after' }).then(({ name }) => name, String), { timeout: 30_000 })
      .toBe('after');
    await sandbox.destroy();
  });

  test('a rollback and a restore that find no room leave things as they are', { timeout: 120_000 }, async () => {
    const sandbox = await world.client().sandboxes.create({ spec });
    await sh(sandbox, 'head -c 80M /dev/urandom >/workspace/big; sync');
    const sum = await treeSum(sandbox);
    const { id } = await sandbox.snapshot();
    const filler = await fillUp();
    const refused = (work: Promise<unknown>) =>
      work.then(
        () => 'ok',
        (error) => String(error.code),
      );
    const restored = await refused(world.client().snapshots.restore(id));
    const back = await refused(sandbox.rollback(id));
    if (storage === 'overlay') expect({ restored, back }).toEqual({ restored: 'storage_full', back: 'storage_full' });
    for (const code of [restored, back]) expect(['ok', 'storage_full']).toContain(code);
    await filler.empty();
    if ((await sandbox.refresh()).state === 'failed')
      await expect.poll(() => refused(sandbox.rollback(id)), { timeout: 30_000 }).toBe('ok');
    expect(await treeSum(sandbox)).toBe(sum);
    await world.noteAll();
    await world.destroyAll();
    for await (const one of world.client().snapshots.list()) await world.client().snapshots.delete(one.id);
    await world.stop();
    expect(await world.leftovers()).toEqual([]);
  });
});
