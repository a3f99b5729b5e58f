import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Process numbers come round: whoever is killed is looked at first, in the same step. */
export function killIf(pid: number, isOurs: (pid: number) => boolean, signal: NodeJS.Signals = 'SIGKILL'): boolean {
  if (!(pid > 1) || !isOurs(pid)) return false;
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    // It has ended meanwhile.
    return false;
  }
}

/** Whether a process is in the control group of this sandbox. */
export function isInSandbox(sandbox: string): (pid: number) => boolean {
  return (pid) => textOf(`/proc/${pid}/cgroup`).includes(`/caisson/${sandbox}`);
}

/** Whether a process was started with this folder in its command line, by one of these programs. */
export function isProgramOn(folder: string, programs: RegExp): (pid: number) => boolean {
  return (pid) => {
    const command = textOf(`/proc/${pid}/cmdline`);
    return programs.test(command) && command.includes(folder);
  };
}

export function isAlive(pid: number): boolean {
  const state = textOf(`/proc/${pid}/stat`);
  return state !== '' && !/\) Z /.test(state);
}

export function allProcesses(): number[] {
  return listed('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** The first process of each instance of the runtimes, by the sandbox it belongs to. */
export function firstProcesses(runtimeFolder: string): { readonly sandbox: string; readonly pid: number }[] {
  const instances = join(runtimeFolder, 'oci', 'instances');
  return listed(instances).map((name) => ({
    sandbox: name.slice(0, name.indexOf('.')),
    pid: Number(textOf(join(instances, name, 'pid'))),
  }));
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
