import { totalmem } from 'node:os';
import type { WorkspaceBlueprint } from '@caisson/contract';

type Resources = WorkspaceBlueprint['runtime']['resources'];

const mebibyte = 1024 * 1024;

/**
 * What a sandbox gets where neither its spec nor its profile says: enough for a compiler and a language server, and too
 * little to take the machine down. Time on the processors is shared, so there is no limit to it.
 */
export const hostDefaults: Resources = {
  // Half of a small machine at most: the rest is the host's.
  memoryMiB: Math.min(2_048, Math.floor(totalmem() / mebibyte / 2)),
  pids: 1_024,
  diskMiB: 10_240,
};

export function withHostDefaults(resources: Resources): Resources {
  return { ...hostDefaults, ...resources };
}
