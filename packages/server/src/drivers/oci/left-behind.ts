import { existsSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { InstanceKey } from '../driver.ts';
import { Cgroup, type CgroupLayout, cgroupParent } from './cgroup.ts';
import { InstanceFolder } from './instance-folder.ts';

/**
 * Instances without a folder of which something is left: a control group, or what a runtime knew of it. The folder is made
 * before both and goes after them, so nobody is at work on these: somebody took it away.
 */
export function leftBehind(root: string, layout: CgroupLayout): InstanceKey[] {
  const left = new Set([...Cgroup.namesBelow(cgroupParent, layout), ...states(root).map(({ entry }) => entry)]);
  // Looked at last: what was made meanwhile has its folder by now.
  const folders = new Set(InstanceFolder.names(root));
  return [...left].flatMap((name) => (folders.has(name) ? [] : (InstanceFolder.keyOf(name) ?? [])));
}

/** A runtime cannot be asked to remove it: how it was called for this instance stood in the folder. */
export async function removeStates(root: string, name: string): Promise<void> {
  for (const { path, entry } of states(root))
    if (entry === name || entry.startsWith(`${name}_`)) await rm(path, { recursive: true, force: true });
}

function states(root: string): { path: string; entry: string }[] {
  const folder = join(root, 'state');
  const runtimes = existsSync(folder) ? readdirSync(folder) : [];
  return runtimes.flatMap((runtime) =>
    readdirSync(join(folder, runtime)).map((entry) => ({ path: join(folder, runtime, entry), entry })),
  );
}
