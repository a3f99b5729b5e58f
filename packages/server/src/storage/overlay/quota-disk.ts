import { open } from 'node:fs/promises';
import { CaissonError } from '@caisson/contract';
import { hostCommand } from './host-command.ts';

/**
 * The limit of one sandbox: its changes lie on an ext4 filesystem of their own, in a sparse file. Quotas of the host's
 * filesystem would be simpler, but not every kernel has them. It has no journal: after a crash of the machine it is
 * checked before it is used.
 */

/** Below this ext4 has no room left for files. */
export const minQuotaBytes = 4 * 1024 * 1024;

export async function makeDisk(file: string, bytes: number): Promise<void> {
  await resize(file, bytes);
  await hostCommand('mkfs.ext4', [
    '-q',
    '-F',
    '-m',
    '0',
    '-O',
    '^has_journal',
    '-E',
    'lazy_itable_init=1,root_owner=0:0',
    file,
  ]);
}

export async function mountDisk(file: string, point: string): Promise<void> {
  // It repairs what it can by itself and then ends with 1; only more than that is a failure.
  await hostCommand('e2fsck', ['-p', file]).catch((error: CaissonError) => {
    if (!/code 1\b/.test(String((error.cause as Error | undefined)?.message))) throw error;
  });
  await hostCommand('mount', ['-o', 'loop,nodev', file, point]);
}

/** Only while it is not mounted: to grow a mounted one needs a right that servers often do not have. */
export async function resizeDisk(file: string, from: number, to: number): Promise<void> {
  if (to > from) await resize(file, to);
  await hostCommand('e2fsck', ['-fp', file]).catch(() => '');
  try {
    await hostCommand('resize2fs', [file, `${Math.floor(to / 1024)}K`]);
  } catch (error) {
    throw new CaissonError('disk_quota_exceeded', `what it holds does not fit into ${to} bytes`, { cause: error });
  }
  if (to < from) await resize(file, to);
}

async function resize(file: string, bytes: number): Promise<void> {
  const handle = await open(file, 'a', 0o600);
  try {
    await handle.truncate(bytes);
  } finally {
    await handle.close();
  }
}
