import { existsSync } from 'node:fs';
import { link, mkdir, open, readdir, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CaissonError, newId } from '@caisson/contract';
import type { HostClient } from '@caisson/guest';
import { hostCommand } from '../layered/host-command.ts';
import { resizeFile, untilLetGo } from '../layered/loop-file.ts';

/**
 * The limit of one sandbox: its changes lie on an ext4 filesystem of their own, in a sparse file. Quotas of the host's
 * filesystem would be simpler, but not every kernel has them. It has no journal: after a crash of the machine it is
 * checked before it is used.
 */

/** Below this ext4 has no room left for files. */
export const minQuotaBytes = 4 * 1024 * 1024;

/** Making a filesystem takes much longer than copying an empty one, so there are empty ones of the sizes in use. */
export async function makeDisk(host: HostClient, pool: string, file: string, bytes: number): Promise<void> {
  const template = join(pool, 'templates', `${bytes}.ext4`);
  if (existsSync(template)) await utimes(template, new Date(), new Date());
  else await makeTemplate(host, pool, template, bytes);
  await hostCommand(host, 'cp', ['--sparse=always', '--reflink=auto', '--', template, file]);
}

/** Sizes come from blueprints: a handful is in use at a time, and anybody may think of others. */
const templatesMax = 8;

async function makeTemplate(host: HostClient, pool: string, template: string, bytes: number): Promise<void> {
  await mkdir(dirname(template), { recursive: true, mode: 0o700 });
  const draft = join(pool, 'making', newId('request'));
  try {
    await resizeFile(draft, bytes);
    // Room kept for growing while it is mounted would be most of what has to be copied, and it never grows so.
    const features = '^has_journal,^resize_inode';
    const extended = 'lazy_itable_init=1,root_owner=0:0';
    await hostCommand(host, 'mkfs.ext4', ['-q', '-F', '-m', '0', '-O', features, '-E', extended, draft]);
    // One that somebody else has made meanwhile stays: it may be being copied.
    await link(draft, template).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(draft, { force: true });
  }
  await dropTemplates(dirname(template));
}

/** Those that were not used for longest. */
async function dropTemplates(folder: string): Promise<void> {
  const all = await Promise.all(
    (await readdir(folder)).map(async (name) => ({ name, usedMs: (await stat(join(folder, name))).mtimeMs })),
  );
  const old = all.sort((one, other) => other.usedMs - one.usedMs).slice(templatesMax);
  for (const { name } of old) await rm(join(folder, name), { force: true });
}

export async function mountDisk(host: HostClient, file: string, point: string): Promise<void> {
  if (!(await isClean(file))) {
    await untilLetGo(file);
    // It repairs what it can by itself and then ends with 1; only more than that is a failure.
    await hostCommand(host, 'e2fsck', ['-p', file], { accept: [1] });
  }
  await host.mountDisk({ file, target: point, type: 'ext4' });
}

/** Only while it is not mounted: to grow a mounted one needs a right that servers often do not have. */
export async function resizeDisk(host: HostClient, file: string, from: number, to: number): Promise<void> {
  await untilLetGo(file);
  if (to > from) await resizeFile(file, to);
  await hostCommand(host, 'e2fsck', ['-fp', file], { accept: [1] });
  try {
    await hostCommand(host, 'resize2fs', [file, `${Math.floor(to / 1024)}K`]);
  } catch (error) {
    throw new CaissonError('disk_quota_exceeded', `what it holds does not fit into ${to} bytes`, { cause: error });
  }
  if (to < from) await resizeFile(file, to);
}

/** Where ext4's superblock says in two bytes whether it was unmounted in order, and what they are then. */
const stateOffset = 1024 + 58;
const cleanState = 1;

async function isClean(file: string): Promise<boolean> {
  const handle = await open(file, 'r');
  try {
    const { buffer } = await handle.read(Buffer.alloc(2), 0, 2, stateOffset);
    return buffer.readUInt16LE(0) === cleanState;
  } finally {
    await handle.close();
  }
}
