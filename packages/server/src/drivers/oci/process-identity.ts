import { readFileSync } from 'node:fs';
import type { ProcessIdentity } from './instance-folder.ts';

/** The process that has this pid now; undefined when there is none, or only what is left of one that ended. */
export function identify(pid: number): ProcessIdentity | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The second field is the program's name in brackets, in which anything may stand.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, startedAt] = [fields[0], Number(fields[19])];
  return state === 'Z' || state === 'X' ? undefined : { pid, startedAt };
}

export function isAlive(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.startedAt === identity.startedAt;
}

/** Whether the process belongs to this control group: of a pid that nobody vouches for. */
export function isInCgroup(pid: number, cgroup: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, 'utf8')
      .split('\n')
      .some((line) => line.endsWith(`:${cgroup}`));
  } catch {
    return false;
  }
}
