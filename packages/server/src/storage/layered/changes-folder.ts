import { existsSync } from 'node:fs';
import { chmod, mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { HostClient } from '@caisson/guest';
import { hostCommand } from './host-command.ts';

/** The two folders that an overlay needs. */
export async function makeChanges(changes: string): Promise<void> {
  if (!existsSync(join(changes, 'work'))) await mkdir(join(changes, 'work'), { recursive: true, mode: 0o700 });
  await makeRoot(join(changes, 'upper'));
}

/**
 * The upper folder is the root of the tree as it is seen. It gets its name when it has its mode: a killed process leaves no
 * root that only root may enter.
 */
export async function makeRoot(upper: string): Promise<void> {
  if (existsSync(upper)) return;
  const draft = `${upper}.new`;
  await mkdir(draft, { recursive: true });
  await chmod(draft, 0o755);
  await rename(draft, upper);
}

/**
 * With everything an overlay keeps in its upper folder: owners, links, devices that hide files, attributes. By a program
 * of ours, because the sandbox may be at work in the tree: `cp` goes by paths, and a folder that becomes a link on the
 * way would lead it into the host's files.
 */
export async function copyTree(host: HostClient, from: string, to: string, signal?: AbortSignal): Promise<void> {
  await hostCommand(host, host.program, ['copy', from, to], { signal });
}

export async function treeBytes(host: HostClient, folder: string, signal?: AbortSignal): Promise<number> {
  return Number.parseInt(await hostCommand(host, 'du', ['-s', '-B1', '--', folder], { signal }), 10);
}
