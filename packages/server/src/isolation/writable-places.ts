import type { WorkspaceBlueprint } from '@caisson/contract';

/** Half of what the instance may use at all: a full one is told as such before the memory is used up. */
const share = 0.5;
const usualMiB = 256;

/** A folder in memory that can be written where the root filesystem cannot. */
export interface MemoryFolder {
  readonly path: string;
  /** As tmpfs takes them. */
  readonly options: readonly string[];
}

/**
 * What programs cannot do without and nobody keeps: besides the workspace these can be written under a read-only root.
 * They count as memory, and are empty after each start.
 */
export function memoryFolders(resources: WorkspaceBlueprint['runtime']['resources']): MemoryFolder[] {
  const size = `size=${Math.max(1, Math.floor((resources.memoryMiB ?? usualMiB / share) * share))}m`;
  const folder = (path: string, ...options: string[]) => ({ path, options: ['nosuid', 'nodev', size, ...options] });
  return [
    folder('/tmp', 'mode=1777'),
    folder('/var/tmp', 'mode=1777'),
    folder('/run', 'mode=755'),
    // It is given to `user` when the sandbox is settled: not every engine takes an owner here.
    folder('/home/user', 'mode=700'),
    folder('/root', 'mode=700'),
  ];
}
