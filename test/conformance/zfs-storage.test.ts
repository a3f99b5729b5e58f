import { execFileSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '@caisson/contract';
import { afterEach, describe, expect, test } from 'vitest';
import { ZfsStorage } from '../../packages/server/src/storage/zfs/zfs-storage.ts';
import { describeLayered } from './describe-layered.ts';
import { describeStorage } from './describe-storage.ts';
import { host, isRoot, type LayeredKind, type LayeredWorld, layeredWorld } from './layered-world.ts';
import { skip } from './skips.ts';
import { ZfsDouble } from './zfs-double.ts';

const never = () => new AbortController().signal;
const dataset = 'tank/caisson';
const doubles = new Map<string, ZfsDouble>();

const zfs: LayeredKind = {
  name: 'zfs',
  open(folder) {
    const command = doubles.get(folder) ?? new ZfsDouble(join(folder, 'double'), dataset);
    doubles.set(folder, command);
    return new ZfsStorage({ pool: join(folder, 'pool'), dataset, mounts: join(folder, 'mounts'), host, command });
  },
  pool: (folder) => join(folder, 'pool'),
};

if (isRoot) describeStorage('zfs, by a double', () => layeredWorld(zfs));
else test.skip('storage zfs: mounting needs root', () => {});
describeLayered(zfs);

describe.runIf(isRoot)('zfs storage', () => {
  const made: LayeredWorld[] = [];
  const open = async () => {
    const one = await layeredWorld(zfs);
    made.push(one);
    return one;
  };
  afterEach(async () => {
    for (const one of made.splice(0)) await one.close();
  });

  test('leaves no dataset and no snapshot, whichever goes first', async () => {
    const { storage, image, folder } = await open();
    const [sandbox, clone] = [newId('sandbox'), newId('sandbox')];
    const [early, late] = [newId('snapshot'), newId('snapshot')];
    const { path } = await storage.prepare({ sandbox, image }, never());
    writeFileSync(join(path, 'a'), '1');
    await storage.snapshot(sandbox, early, never());
    await storage.clone(early, { sandbox: clone }, never());
    await storage.snapshot(clone, late, never());
    await storage.rollback(sandbox, late, never());
    await storage.removeSnapshot(early, never());
    await storage.destroy(clone, never());
    await storage.removeSnapshot(late, never());
    await storage.destroy(sandbox, never());
    await storage.close?.();
    const command = doubles.get(folder) as ZfsDouble;
    expect(await command.zfs(['list', '-H', '-r', '-d', '1', '-t', 'filesystem', '-o', 'name', dataset])).toBe(dataset);
    expect(readdirSync(join(folder, 'double', 'trees'))).toEqual([]);
  });

  test('removes datasets that nothing names', async () => {
    const { storage, folder } = await open();
    await storage.recover(never());
    const command = doubles.get(folder) as ZfsDouble;
    await command.zfs(['create', '-o', 'mountpoint=legacy', `${dataset}/stranger`]);
    expect(await storage.recover(never())).toEqual([`${dataset}/stranger`]);
    expect(await storage.recover(never())).toEqual([]);
  });

  test('is not usable where there is no such dataset, and says what to do', async () => {
    const { folder } = await open();
    const options = { pool: join(folder, 'other'), mounts: join(folder, 'mounts'), host };
    const storage = new ZfsStorage({ ...options, dataset: 'nowhere/caisson' });
    expect(await storage.probe(never())).toMatchObject({ usable: false, fix: expect.stringContaining('zfs create') });
  });
});

/** The real one: `CAISSON_TEST_ZFS_DATASET=tank/test npx vitest run test/conformance/zfs-storage.test.ts`. */
const real = process.env.CAISSON_TEST_ZFS_DATASET;
if (real !== undefined && isRoot) {
  describeStorage('zfs', () =>
    layeredWorld({
      name: 'zfs',
      open: (folder) =>
        new ZfsStorage({ pool: join(folder, 'pool'), dataset: real, mounts: join(folder, 'mounts'), host }),
      pool: (folder) => join(folder, 'pool'),
      end: async () => void execFileSync('zfs', ['destroy', '-r', real]),
    }),
  );
} else {
  test('storage zfs, the real one', (context) =>
    skip(context, 'there is no zfs here: set CAISSON_TEST_ZFS_DATASET to a dataset for tests', true));
}
