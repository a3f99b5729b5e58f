import { join } from 'node:path';
import { BtrfsStorage } from '../../packages/server/src/storage/btrfs/btrfs-storage.ts';
import { describeLayered } from './describe-layered.ts';
import { describeStorage } from './describe-storage.ts';
import { host, isRoot, type LayeredKind, layeredWorld } from './layered-world.ts';

const mib = 1024 ** 2;

const btrfs: LayeredKind = {
  name: 'btrfs',
  open: (folder) =>
    new BtrfsStorage({
      data: folder,
      pool: join(folder, 'pool'),
      mounts: join(folder, 'mounts'),
      host,
      firstBytes: 512 * mib,
    }),
  pool: (folder) => join(folder, 'pool'),
};

if (isRoot) describeStorage('btrfs', () => layeredWorld(btrfs));
describeLayered(btrfs);
