import { readFileSync } from 'node:fs';
import type { ProcessIdentity } from './instance-folder.ts';

/** The process that has this pid now; undefined when there is none, or only what is left of one that ended. */
export function identify(pid: number): ProcessIdentity | undefined {
  const fields = fieldsOf(pid);
  if (!fields) return undefined;
  const [state, startedAt] = [fields[0], Number(fields[19])];
  return state === 'Z' || state === 'X' ? undefined : { pid, startedAt };
}

export function isAlive(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.startedAt === identity.startedAt;
}

/** Of the flags of a process: it is past the point from which none comes back. */
const exiting = 0x4;
/** As masks of signals have it. */
const killed = 1n << 8n;

/** Whether it was killed, or is on its way out. The first of a sandbox waits there for all others. */
export function isEnding({ pid }: ProcessIdentity): boolean {
  const fields = fieldsOf(pid);
  if (!fields || (Number(fields[6]) & exiting) !== 0) return true;
  const status = readOfProcess(pid, 'status') ?? '';
  return [...status.matchAll(/^S(?:ig|hd)Pnd:\s*([0-9a-f]+)$/gm)].some(
    ([, mask]) => (BigInt(`0x${mask}`) & killed) !== 0n,
  );
}

/** Whether the process belongs to this control group: of a pid that nobody vouches for. */
export function isInCgroup(pid: number, cgroup: string): boolean {
  const text = readOfProcess(pid, 'cgroup') ?? '';
  return text.split('\n').some((line) => line.endsWith(`:${cgroup}`));
}

/** What the kernel tells of a process in one line, from its state on. */
function fieldsOf(pid: number): string[] | undefined {
  const text = readOfProcess(pid, 'stat');
  // The second field is the program's name in brackets, in which anything may stand.
  return text?.slice(text.lastIndexOf(')') + 2).split(' ');
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
