import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { boundProcessors } from '../processors.ts';
import { type CgroupLayout, cgroupParent } from './cgroup.ts';

export interface Resources {
  readonly cpus?: number | undefined;
  readonly memoryMiB?: number | undefined;
  readonly pids?: number | undefined;
}

/** The facts of the machine that limits are made from. */
export interface Machine {
  readonly cpus: readonly number[];
  /** Whether the kernel counts swap for a group: without it a limit on it cannot be set. */
  readonly countsSwap: boolean;
}

const periodMicroseconds = 100_000;

/** Limits in the form of the OCI runtime specification. */
export function linuxResources(resources: Resources, machine: Machine, name: string): Record<string, unknown> {
  const { cpus, memoryMiB, pids } = resources;
  const cpu = cpus === undefined ? {} : { cpu: { ...cpuTime(cpus), ...boundTo(cpus, machine.cpus, name) } };
  const bytes = memoryMiB === undefined ? undefined : memoryMiB * 1024 * 1024;
  const memory =
    bytes === undefined ? {} : { memory: { limit: bytes, ...(machine.countsSwap ? { swap: bytes } : {}) } };
  return {
    devices: [{ allow: false, access: 'rwm' }],
    ...cpu,
    ...memory,
    ...(pids === undefined ? {} : { pids: { limit: pids } }),
  };
}

function cpuTime(cpus: number): { quota: number; period: number } {
  // The kernel takes no less than a millisecond.
  return { quota: Math.max(1_000, Math.round(cpus * periodMicroseconds)), period: periodMicroseconds };
}

function boundTo(cpus: number, all: readonly number[], name: string): { cpus?: string } {
  const bound = boundProcessors(cpus, all, name);
  return bound === undefined ? {} : { cpus: bound };
}

export function readMachine(layout: CgroupLayout, root = '/sys/fs/cgroup'): Machine {
  const file = layout === 'v2' ? 'cpuset.cpus.effective' : join('cpuset', 'cpuset.effective_cpus');
  const cpus = readText(join(root, file)) ?? readText('/sys/devices/system/cpu/online') ?? '0';
  return { cpus: parseList(cpus), countsSwap: countsSwap(layout, root) };
}

/** Also where there is no swap yet: some may be added while a sandbox lives, and is not its to use. */
function countsSwap(layout: CgroupLayout, root: string): boolean {
  if (layout !== 'v2') return existsSync(join(root, 'memory', 'memory.memsw.limit_in_bytes'));
  // The root of the new tree has no limits; below it there is our own group, once a runtime was tried out.
  if (existsSync(join(root, cgroupParent, 'memory.swap.max'))) return true;
  return (readText('/proc/swaps') ?? '').trim().split('\n').length > 1;
}

/** As the kernel writes lists of processors: `0-3,6`. */
export function parseList(text: string): number[] {
  return text
    .trim()
    .split(',')
    .flatMap((part) => {
      const [first = 0, last = first] = part.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, i) => first + i);
    });
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
