import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '@caisson/contract';
import { HostClient } from '@caisson/guest';
import { BtrfsStorage } from '../../packages/server/src/storage/btrfs/btrfs-storage.ts';
import { OverlayStorage } from '../../packages/server/src/storage/overlay/overlay-storage.ts';
import type { Storage } from '../../packages/server/src/storage/storage.ts';

/** Changes root filesystems without end, in a process of its own, to be killed at the worst moment. */
const [kind = '', folder = '', guestProgram = ''] = process.argv.slice(2);
const host = new HostClient(guestProgram, { lock: join(folder, 'host.lock') });
const [pool, mounts] = [join(folder, 'pool'), join(folder, 'mounts')];
const storage: Storage =
  kind === 'btrfs'
    ? new BtrfsStorage({ data: folder, pool, mounts, host, firstBytes: 512 * 1024 ** 2 })
    : new OverlayStorage({ pool, mounts, host });
const image = { digest: `sha256:${'a'.repeat(64)}`, layers: [join(folder, 'layers', 'lower')] };
const signal = new AbortController().signal;

/** Two files that say the same, whenever somebody looks who may. */
function write(path: string, state: string): void {
  for (const name of ['one', 'two']) writeFileSync(join(path, name), state);
}

await storage.recover(signal);
console.log('at work');
for (let round = 0; ; round += 1) {
  const [sandbox, clone, snapshot] = [newId('sandbox'), newId('sandbox'), newId('snapshot')];
  const { path } = await storage.prepare({ sandbox, image, quotaBytes: 16 * 1024 ** 2 }, signal);
  write(path, `${round}`);
  await storage.snapshot(sandbox, snapshot, signal);
  write(path, `${round} later`);
  await storage.clone(snapshot, { sandbox: clone }, signal);
  write((await storage.rollback(sandbox, snapshot, signal)).path, `${round} again`);
  await storage.destroy(clone, signal);
  if (round % 2 === 0) await storage.removeSnapshot(snapshot, signal);
  if (round % 3 !== 0) await storage.destroy(sandbox, signal);
}
