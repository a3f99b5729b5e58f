import { readFileSync } from 'node:fs';
import type { ProcessIdentity } from './instance-folder.ts';

/** The process that has this pid now; undefined when there is none, or only what is left of one that ended. */
export function identify(pid: number): ProcessIdentity | undefined {
  const text = readOfProcess(pid, 'stat');
  if (text === undefined) return undefined;
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
  const text = readOfProcess(pid, 'cgroup') ?? '';
  return text.split('\n').some((line) => line.endsWith(`:${cgroup}`));
}

/** Undefined only when there is no such process. What cannot be read for another reason proves nothing, and is thrown. */
function readOfProcess(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return undefined;
    throw error;
  }
}
