import { existsSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CaissonError } from '@caisson/contract';

/** Where every system mounts them. */
const mounted = '/sys/fs/cgroup';
/** The kernel lets go of a group some milliseconds after its last process; a machine under load takes longer. */
const endMs = 5_000;
const lookMs = 10;
/** Processes stand within microseconds, but for those in the middle of a slow disk operation. */
const freezeMs = 5_000;
const quickLooks = 20;
/** On v1 a fork at the wrong moment keeps the kernel from an end: after so many looks it begins anew. */
const looksUntilAnew = 40;

/** `v2`: one tree. `v1`: one for each controller. `hybrid`: the same, and an additional tree of the new kind. */
export type CgroupLayout = 'v2' | 'v1' | 'hybrid';

export function cgroupLayout(root: string = mounted): CgroupLayout | undefined {
  if (existsSync(join(root, 'cgroup.controllers'))) return 'v2';
  if (!existsSync(join(root, 'memory'))) return undefined;
  return existsSync(join(root, 'unified', 'cgroup.procs')) ? 'hybrid' : 'v1';
}

/** Where the groups of all instances are in each tree. It stays when the last of them goes. */
export const cgroupParent = '/caisson';

/** Where the group of an instance is in each tree. */
export function cgroupOf(name: string): string {
  return `${cgroupParent}/${name}`;
}

/** The control group of one instance as the host sees it. What the kernel does not tell is 0. */
export class Cgroup {
  readonly #path: string;
  readonly #isV2: boolean;
  readonly #root: string;

  constructor(path: string, layout: CgroupLayout, root: string = mounted) {
    this.#path = path;
    this.#isV2 = layout === 'v2';
    this.#root = root;
  }

  /** The groups right below a path, of whatever tree. */
  static namesBelow(path: string, layout: CgroupLayout, root: string = mounted): string[] {
    const trees = layout === 'v2' ? [''] : readdirSync(root);
    return [...new Set(trees.flatMap((tree) => foldersIn(join(root, tree, path))))];
  }

  get cpuSeconds(): number {
    if (this.#isV2) return this.#field('', 'cpu.stat', 'usage_usec') / 1e6;
    return this.#number('cpuacct', 'cpuacct.usage') / 1e9;
  }

  /** Without the cache of files that the kernel drops when it needs room. */
  get memoryBytes(): number {
    const used = this.#isV2 ? this.#number('', 'memory.current') : this.#number('memory', 'memory.usage_in_bytes');
    const cache = this.#isV2
      ? this.#field('', 'memory.stat', 'inactive_file')
      : this.#field('memory', 'memory.stat', 'total_inactive_file');
    return Math.max(0, used - cache);
  }

  get processes(): number {
    return this.#number('pids', 'pids.current');
  }

  get oomKills(): number {
    if (this.#isV2) return this.#field('', 'memory.events', 'oom_kill');
    return this.#field('memory', 'memory.oom_control', 'oom_kill');
  }

  /** How often a process could not be started because there were too many. */
  get pidsRefused(): number {
    return this.#field('pids', 'pids.events', 'max');
  }

  get isFrozen(): boolean {
    if (this.#isV2) return this.#field('', 'cgroup.events', 'frozen') === 1;
    return this.#text('freezer', 'freezer.state').trim() === 'FROZEN';
  }

  /**
   * Lets every process stand still, at once and without the runtime, which would be started for it. Where they cannot
   * all be stopped in time, they go on.
   */
  async freeze(signal: AbortSignal): Promise<void> {
    const until = Date.now() + freezeMs;
    try {
      for (let looks = 0; ; looks += 1) {
        if (looks === 0 || !this.#isV2) this.#askToFreeze(looks);
        if (this.isFrozen) return;
        signal.throwIfAborted();
        if (Date.now() > until) throw new CaissonError('driver_timeout', `${this.#path} does not stand still`);
        // No event of v1 tells it.
        await (looks < quickLooks ? new Promise(setImmediate) : new Promise((resolve) => setTimeout(resolve, 1)));
      }
    } catch (error) {
      this.thaw();
      throw error;
    }
  }

  thaw(): void {
    this.#freezer(false);
  }

  /** The kernel of the older tree wants to be asked until the last one stands. */
  #askToFreeze(looks: number): void {
    if (looks % looksUntilAnew === looksUntilAnew - 1) this.#freezer(false);
    this.#freezer(true);
  }

  #freezer(on: boolean): void {
    if (this.#isV2) writeFileSync(join(this.#root, this.#path, 'cgroup.freeze'), on ? '1' : '0');
    else writeFileSync(join(this.#root, 'freezer', this.#path, 'freezer.state'), on ? 'FROZEN' : 'THAWED');
  }

  /** For what a runtime left behind. Only empty groups can be removed. */
  removeEmpty(): void {
    for (const tree of this.#trees) {
      try {
        rmdirSync(join(this.#root, tree, this.#path));
      } catch {
        // Not there, or still in use: the next round tries again.
      }
    }
  }

  /**
   * Removes the group with whatever still runs in it. A runtime that was killed half-way leaves processes that nobody else
   * knows of; while the group is there its instance must be found again, so this fails rather than leave it.
   */
  async end(): Promise<void> {
    for (let waited = 0; ; waited += lookMs) {
      this.removeEmpty();
      if (!this.isLeft) return;
      if (waited >= endMs) throw new CaissonError('driver_failed', `the control group ${this.#path} is still in use`);
      for (const pid of this.#pids()) kill(pid);
      await new Promise((resolve) => setTimeout(resolve, lookMs));
    }
  }

  #pids(): number[] {
    return this.#text('pids', 'cgroup.procs')
      .split('\n')
      .map(Number)
      .filter((pid) => pid > 1);
  }

  get isLeft(): boolean {
    return this.#trees.some((tree) => existsSync(join(this.#root, tree, this.#path)));
  }

  get #trees(): string[] {
    return this.#isV2 ? [''] : readdirSync(this.#root);
  }

  #text(controller: string, file: string): string {
    try {
      return readFileSync(join(this.#root, this.#isV2 ? '' : controller, this.#path, file), 'utf8');
    } catch {
      return '';
    }
  }

  #number(controller: string, file: string): number {
    return Number.parseInt(this.#text(controller, file), 10) || 0;
  }

  #field(controller: string, file: string, name: string): number {
    const line = this.#text(controller, file)
      .split('\n')
      .find((one) => one.startsWith(`${name} `));
    return Number(line?.slice(name.length + 1)) || 0;
  }
}

function foldersIn(path: string): string[] {
  try {
    return readdirSync(path, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  } catch {
    // Not every tree has it.
    return [];
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
