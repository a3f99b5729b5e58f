import { newId } from '@caisson/contract';
import { Turns } from '../../turns/turns.ts';
import type { ZfsCommand } from './zfs-command.ts';

/**
 * The datasets of one installation, all right below one that was given to it. Each has a name that is used once.
 *
 * In zfs a snapshot belongs to the dataset it was taken of, and a clone depends on its snapshot. Here everything outlives
 * everything else: so a copy is a clone whose snapshot goes with it (`destroy -d`), and a dataset that others were cloned
 * from hands its snapshots on to one of them (`promote`) before it goes.
 */
export class Datasets {
  readonly #command: ZfsCommand;
  readonly #parent: string;
  readonly #turns = new Turns();

  constructor(command: ZfsCommand, parent: string) {
    this.#command = command;
    this.#parent = parent;
  }

  newName(): string {
    return `${this.#parent}/${newId('request')}`;
  }

  async create(name: string, limit: number | null): Promise<void> {
    // Attributes of an overlay are many and small: with the file they cost nothing.
    const options = [...optionsFor(limit), '-o', 'atime=off', '-o', 'xattr=sa'];
    await this.#command.zfs(['create', ...options, name]);
  }

  /** What a dataset holds at this moment, without being kept for anybody: what was written lately is on the disk then. */
  async settle(name: string): Promise<void> {
    const moment = `${name}@${newId('request')}`;
    await this.#command.zfs(['snapshot', moment]);
    await this.#command.zfs(['destroy', moment]);
  }

  async snapshot(name: string): Promise<string> {
    const moment = `${name}@${newId('request')}`;
    await this.#command.zfs(['snapshot', moment]);
    return moment;
  }

  /** A dataset of what a snapshot holds; the snapshot is the copy's alone from now on. */
  async copy(moment: string, name: string, options: { readonly limit: number | null; readonly readOnly: boolean }) {
    const readOnly = options.readOnly ? ['-o', 'readonly=on'] : [];
    await this.#alone(async () => {
      await this.#command.zfs(['clone', ...optionsFor(options.limit), ...readOnly, moment, name]);
      await this.#command.zfs(['destroy', '-d', moment]);
    });
  }

  async limit(name: string, limit: number | null): Promise<void> {
    await this.#command.zfs(['set', `refquota=${limit ?? 'none'}`, name]);
  }

  async makeReadOnly(name: string): Promise<void> {
    await this.#command.zfs(['set', 'readonly=on', name]);
  }

  /** Bytes that would be free without it. */
  async usedBytes(name: string): Promise<number> {
    return Number(await this.#command.zfs(['get', '-H', '-p', '-o', 'value', 'used', name]));
  }

  async room(): Promise<{ readonly totalBytes: number; readonly freeBytes: number }> {
    const said = await this.#command.zfs(['get', '-H', '-p', '-o', 'value', 'used,available', this.#parent]);
    const [used = 0, freeBytes = 0] = said.trim().split('\n').map(Number);
    return { totalBytes: used + freeBytes, freeBytes };
  }

  async list(): Promise<string[]> {
    const said = await this.#command.zfs([
      'list',
      '-H',
      '-r',
      '-d',
      '1',
      '-t',
      'filesystem',
      '-o',
      'name',
      this.#parent,
    ]);
    return lines(said).filter((name) => name !== this.#parent);
  }

  async destroy(name: string): Promise<void> {
    await this.#alone(() => this.#destroy(name));
  }

  async #destroy(name: string): Promise<void> {
    if (!(await this.list()).includes(name)) return;
    for (let heir = await this.#heirOf(name); heir !== undefined; heir = await this.#heirOf(name)) {
      await this.#command.zfs(['promote', heir]);
    }
    await this.#command.zfs(['destroy', '-r', name]);
  }

  /** Who depends on whom must not change between the look and the deed. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    return this.#turns.take('dependencies', new AbortController().signal, work);
  }

  /** A clone of its latest snapshot that has any: promoted, it takes that one with all before it. */
  async #heirOf(name: string): Promise<string | undefined> {
    const order = ['-s', 'createtxg', '-o', 'name,clones'];
    const said = await this.#command.zfs(['list', '-H', '-r', '-d', '1', '-t', 'snapshot', ...order, name]);
    const cloned = lines(said)
      .map((line) => line.split('\t')[1] ?? '-')
      .filter((clones) => clones !== '-' && clones !== '');
    return cloned.at(-1)?.split(',')[0];
  }
}

function optionsFor(limit: number | null): string[] {
  return ['-o', 'mountpoint=legacy', '-o', `refquota=${limit ?? 'none'}`];
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}
