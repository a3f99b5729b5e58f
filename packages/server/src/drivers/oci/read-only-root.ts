import { lstat } from 'node:fs/promises';
import { posix } from 'node:path';
import { CaissonError } from '@caisson/contract';
import type { HostClient } from '@caisson/guest';
import { memoryFolders } from '../../isolation/writable-places.ts';
import type { CreateRequest } from '../driver.ts';

/** What of a read-only root filesystem can be written, as mounts of the runtime. */
export type WritableMounts = readonly Record<string, unknown>[];

const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };
const makeMs = 30_000;

/**
 * Makes the places that are mounted on, in a tree that an image or a sandbox may have shaped: no link in it is followed,
 * neither here nor by a runtime, which would be led out of it. Nothing may be at work in the tree yet.
 */
export async function writableMounts(
  { rootfs, blueprint, resources }: CreateRequest,
  host: HostClient,
): Promise<WritableMounts> {
  const { readOnlyRoot, workspaceRoot } = blueprint.runtime;
  if (readOnlyRoot !== true || !rootfs) return [];
  const missing = new Set<string>();
  if (!(await isPlain(rootfs.path, workspaceRoot, missing))) {
    const why = `its workspace ${workspaceRoot} lies behind a link or a file`;
    throw new CaissonError('image_invalid', `${why}, and no sandbox with a read-only root is started with it`);
  }
  const mounts: Record<string, unknown>[] = [];
  for (const { path, options } of memoryFolders(resources ?? blueprint.runtime.resources)) {
    if (`${workspaceRoot}/`.startsWith(`${path}/`)) continue;
    // What is a link there leads into another of them, or stays as the image has it.
    if (await isPlain(rootfs.path, path, missing))
      mounts.push({ destination: path, type: 'tmpfs', source: 'tmpfs', options: [...options] });
  }
  await makeFolders(host, [...missing], rootfs.ids?.first ?? 0);
  const source = posix.join(rootfs.path, workspaceRoot);
  // It lies in the sandbox's own files: snapshots and the limit of its disk have it.
  mounts.push({ destination: workspaceRoot, type: 'bind', source, options: ['bind', 'nosuid', 'nodev'] });
  return mounts;
}

/** Whether a path is folders all the way; what is missing of it is noted, from the top down. */
async function isPlain(root: string, path: string, missing: Set<string>): Promise<boolean> {
  let place = root;
  for (const name of path.split('/').filter(Boolean)) {
    place = posix.join(place, name);
    const found = await lstat(place).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (found && !found.isDirectory()) return false;
    if (!found) missing.add(place);
  }
  return true;
}

/** As the root inside: root of the host has no id in a tree whose ids are shifted, and can make nothing there. */
async function makeFolders(host: HostClient, paths: readonly string[], id: number): Promise<void> {
  if (paths.length === 0) return;
  const as = ['setpriv', '--reuid', String(id), '--regid', String(id), '--clear-groups'];
  const argv = ['/usr/bin/env', ...as, 'mkdir', '-m', '755', '--', ...paths];
  const { code, stderr } = await host.run(argv, { env, timeoutMs: makeMs });
  if (code === 0) return;
  const words = Buffer.from(stderr).toString().trim().slice(-500);
  const isFull = /No space left|quota exceeded/.test(words);
  throw new CaissonError(
    isFull ? 'storage_full' : 'storage_failed',
    `the root filesystem cannot be laid out: ${words}`,
  );
}
