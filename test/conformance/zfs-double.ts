import { mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BtrfsPool } from '../../packages/server/src/storage/btrfs/btrfs-pool.ts';
import { mountsBelow } from '../../packages/server/src/storage/layered/mounts.ts';
import type { ZfsCommand } from '../../packages/server/src/storage/zfs/zfs-command.ts';
import { host } from './layered-world.ts';

interface Dataset {
  origin?: string;
  refquota: number | null;
  readonly: boolean;
}

/**
 * Stands in for zfs where there is none: takes the command lines that its manual has and no others, keeps its rules about
 * who depends on whom, and holds the trees in subvolumes of a btrfs. Remembers what it was asked.
 */
export class ZfsDouble implements ZfsCommand {
  readonly asked: string[] = [];
  readonly #datasets = new Map<string, Dataset>();
  /** By name, oldest first; true for those that go with their last clone. */
  readonly #snapshots = new Map<string, boolean>();
  readonly #folder: string;
  #pool: BtrfsPool | undefined;
  #opening: Promise<void> = Promise.resolve();

  constructor(folder: string, parent: string) {
    this.#folder = folder;
    this.#datasets.set(parent, { refquota: null, readonly: false });
  }

  async zfs(args: readonly string[]): Promise<string> {
    this.asked.push(['zfs', ...args].join(' '));
    await this.#open();
    const [verb = '', ...rest] = args;
    const { options, flags, names } = parse(rest);
    const [name = '', second = ''] = names;
    switch (`${verb}${flags.join('')}`) {
      case 'create':
        return this.#create(name, options);
      case 'snapshot':
        return this.#snapshot(name);
      case 'clone':
        return this.#clone(name, second, options);
      case 'promote':
        return this.#promote(name);
      case 'destroy':
        return name.includes('@') ? this.#destroySnapshot(name, false) : refuse(`destroy ${name}: use -r`);
      case 'destroy-d':
        return this.#destroySnapshot(name, true);
      case 'destroy-r':
        return this.#destroy(name);
      case 'set':
        return this.#set(name, second);
      case 'get-H-p-ovalue':
        return this.#get(name, second);
      case 'list-H-r-d1-tfilesystem-oname':
        return [...this.#datasets.keys()].filter((one) => one === name || dirname(one) === name).join('\n');
      case 'list-H-r-d1-tsnapshot-screatetxg-oname,clones':
        return this.#snapshotsOf(name)
          .map((one) => `${one}\t${this.#clonesOf(one).join(',') || '-'}`)
          .join('\n');
      default:
        return refuse(`unknown command line: ${args.join(' ')}`);
    }
  }

  async mount(dataset: string, target: string): Promise<void> {
    this.asked.push(`mount ${dataset}`);
    await this.#open();
    const { readonly } = this.#require(dataset);
    const bind = 4096;
    await host.mount({ source: this.#at(dataset), target, type: 'none', flags: bind, data: '' });
    if (readonly) await host.mount({ source: '', target, type: 'none', flags: bind | 32 | 1, data: '' });
  }

  async #create(name: string, options: Map<string, string>): Promise<string> {
    this.#require(dirname(name));
    if (options.get('mountpoint') !== 'legacy') refuse('it would be mounted by itself');
    await host.createSubvolume(this.#at(name));
    return this.#add(name, options);
  }

  async #add(name: string, options: Map<string, string>, origin?: string): Promise<string> {
    const refquota = bytesOf(options.get('refquota'));
    this.#datasets.set(name, { refquota, readonly: options.get('readonly') === 'on', ...(origin ? { origin } : {}) });
    await host.limitQuota(this.#at(name), refquota ?? undefined);
    return '';
  }

  async #snapshot(moment: string): Promise<string> {
    const [name = ''] = moment.split('@');
    this.#require(name);
    await host.snapshot(this.#at(name), this.#at(moment), { readOnly: true });
    this.#snapshots.set(moment, false);
    return '';
  }

  async #clone(moment: string, name: string, options: Map<string, string>): Promise<string> {
    if (!this.#snapshots.has(moment)) refuse(`cannot open '${moment}': dataset does not exist`);
    await host.snapshot(this.#at(moment), this.#at(name));
    return this.#add(name, options, moment);
  }

  /** The origin and all before it become the clone's; whose they were is a clone of it now. */
  async #promote(name: string): Promise<string> {
    const dataset = this.#require(name);
    const { origin } = dataset;
    if (origin === undefined) return refuse(`${name} is not a clone`);
    const [former = ''] = origin.split('@');
    const all = this.#snapshotsOf(former);
    const before = this.#require(former);
    const grand = before.origin;
    for (const moment of all.slice(0, all.indexOf(origin) + 1)) {
      const moved = `${name}@${moment.split('@')[1]}`;
      await host.snapshot(this.#at(moment), this.#at(moved), { readOnly: true });
      for (const clone of this.#clonesOf(moment)) this.#require(clone).origin = moved;
      this.#snapshots.set(moved, this.#snapshots.get(moment) ?? false);
      await this.#drop(moment);
    }
    before.origin = `${name}@${origin.split('@')[1]}`;
    if (grand === undefined) delete dataset.origin;
    else dataset.origin = grand;
    return '';
  }

  async #destroySnapshot(moment: string, isDeferred: boolean): Promise<string> {
    if (!this.#snapshots.has(moment)) refuse(`could not find any snapshots to destroy`);
    if (this.#clonesOf(moment).length === 0) await this.#drop(moment);
    else if (isDeferred) this.#snapshots.set(moment, true);
    else refuse(`cannot destroy '${moment}': snapshot has dependent clones`);
    return '';
  }

  async #destroy(name: string): Promise<string> {
    const { origin } = this.#require(name);
    const moments = this.#snapshotsOf(name);
    if (moments.some((moment) => this.#clonesOf(moment).length > 0)) refuse(`'${name}' has dependent clones`);
    if (await this.#isMounted(name)) refuse(`cannot destroy '${name}': dataset is busy`);
    for (const moment of moments) await this.#drop(moment);
    this.#datasets.delete(name);
    await host.deleteSubvolume(this.#at(name));
    if (origin && this.#snapshots.get(origin) && this.#clonesOf(origin).length === 0) await this.#drop(origin);
    return '';
  }

  async #set(setting: string, name: string): Promise<string> {
    const [property = '', value] = setting.split('=');
    const dataset = this.#require(name);
    if (property === 'readonly') dataset.readonly = value === 'on';
    else if (property === 'refquota') {
      dataset.refquota = bytesOf(value);
      await host.limitQuota(this.#at(name), dataset.refquota ?? undefined);
    } else refuse(`cannot set property ${property}`);
    return '';
  }

  async #get(properties: string, name: string): Promise<string> {
    this.#require(name);
    const { totalBytes, freeBytes } = await (this.#pool as BtrfsPool).health();
    const isParent = !this.#datasets.has(dirname(name));
    const values: Record<string, () => Promise<number>> = {
      used: async () => (isParent ? totalBytes - freeBytes : this.#usage(name)),
      available: async () => freeBytes,
    };
    const found = properties.split(',').map((property) => values[property]?.() ?? refuse(`bad property ${property}`));
    return `${(await Promise.all(found)).join('\n')}\n`;
  }

  async #usage(name: string): Promise<number> {
    await host.sync(this.#at(name));
    return (await host.usage(this.#at(name))).bytes;
  }

  async #drop(moment: string): Promise<void> {
    this.#snapshots.delete(moment);
    await host.deleteSubvolume(this.#at(moment));
  }

  #snapshotsOf(name: string): string[] {
    return [...this.#snapshots.keys()].filter((moment) => moment.startsWith(`${name}@`));
  }

  #clonesOf(moment: string): string[] {
    return [...this.#datasets].filter(([, { origin }]) => origin === moment).map(([name]) => name);
  }

  #require(name: string): Dataset {
    return this.#datasets.get(name) ?? refuse(`cannot open '${name}': dataset does not exist`);
  }

  async #isMounted(name: string): Promise<boolean> {
    const { dev } = statSync(this.#at(name));
    const points = await mountsBelow(dirname(this.#folder));
    return points.some((point) => point.endsWith('/changes') && statSync(point).dev === dev);
  }

  #at(name: string): string {
    return join((this.#pool as BtrfsPool).folder, name.replaceAll('/', '_'));
  }

  /** After a restart of the machine it is there again by itself. Who asks meanwhile waits for it. */
  #open(): Promise<void> {
    this.#opening = this.#opening.then(async () => {
      mkdirSync(this.#folder, { recursive: true });
      const mount = join(this.#folder, 'trees');
      if (this.#pool && (await mountsBelow(mount)).length > 0) return;
      this.#pool = new BtrfsPool({ data: this.#folder, mount, host, firstBytes: 512 * 1024 ** 2 });
      await this.#pool.open();
    });
    return this.#opening;
  }
}

/** `-o name=value` of create and clone, everything else that begins with a dash, and names. */
function parse(args: readonly string[]) {
  const options = new Map<string, string>();
  const flags: string[] = [];
  const names: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? '';
    const next = args[at + 1] ?? '';
    if (arg === '-o' && next.includes('=')) options.set(next.split('=')[0] ?? '', next.split('=')[1] ?? '');
    else if (['-o', '-t', '-s'].includes(arg) || (arg === '-d' && /^\d+$/.test(next))) flags.push(`${arg}${next}`);
    else if (arg.startsWith('-')) {
      flags.push(arg);
      continue;
    } else {
      names.push(arg);
      continue;
    }
    at += 1;
  }
  return { options, flags, names };
}

function bytesOf(value: string | undefined): number | null {
  return value === undefined || value === 'none' ? null : Number(value);
}

function refuse(words: string): never {
  throw new Error(`zfs: ${words}`);
}
