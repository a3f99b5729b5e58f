import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Id, newId } from '@caisson/contract';
import type { Secrets } from '@caisson/guest';
import type { InstanceKey } from '../driver.ts';
import { writeJson } from './write-json.ts';

/** What is known about an instance. It is written before anything is made for it, and is the last thing to go. */
export interface InstanceRecord {
  readonly key: InstanceKey;
  readonly labels: Readonly<Record<string, string>>;
  readonly runtime: string;
  /** The options with which the runtime is called. */
  readonly runtimeOptions: readonly string[];
  readonly createdAt: number;
  readonly notices: readonly string[];
  /** Its first process, once it runs; until then the instance is being made. */
  readonly running?: ProcessIdentity;
  /** It stands still; where that cannot be seen at its control group. */
  readonly paused?: boolean;
}

/** A pid alone may be somebody else's by now. */
export interface ProcessIdentity {
  readonly pid: number;
  /** In ticks since the machine started, as /proc has it. */
  readonly startedAt: number;
}

/**
 * Everything about one instance on this machine, in one folder, which is also the bundle that the runtime is given:
 *
 *   instance.json  secrets.json  config.json  pid  runtime.log  console.log
 *   guest/socket   where its guest dials; the folder is shown to the sandbox, read-only
 *
 * It lies in memory, where a call takes microseconds: small files are written at once, since a thread for each of a dozen
 * calls would cost a launch more than the calls do.
 *
 * Law: a folder with an `instance.json` is an instance; one is moved away in a single step before it is deleted.
 */
export class InstanceFolder {
  readonly name: string;
  readonly path: string;
  readonly #trash: string;

  constructor(root: string, name: string) {
    this.name = name;
    this.path = join(root, 'instances', name);
    this.#trash = join(root, 'trash');
  }

  static nameOf(key: InstanceKey): string {
    return `${key.sandbox}.${key.incarnation}`;
  }

  static keyOf(name: string): InstanceKey | undefined {
    const found = /^(sbx[a-z0-9]{20})\.([1-9]\d{0,9})$/.exec(name);
    if (!found) return undefined;
    return { sandbox: found[1] as Id<'sandbox'>, incarnation: Number(found[2]) };
  }

  static names(root: string): string[] {
    const folder = join(root, 'instances');
    return existsSync(folder) ? readdirSync(folder) : [];
  }

  /** Deletes what was moved away and not deleted before the process was killed. */
  static async sweep(root: string): Promise<void> {
    const trash = join(root, 'trash');
    for (const name of existsSync(trash) ? await readdir(trash) : [])
      await rm(join(trash, name), { recursive: true, force: true });
  }

  get socket(): string {
    return join(this.guest, 'socket');
  }
  get guest(): string {
    return join(this.path, 'guest');
  }
  get pidFile(): string {
    return join(this.path, 'pid');
  }
  get runtimeLog(): string {
    return join(this.path, 'runtime.log');
  }
  get console(): string {
    return join(this.path, 'console.log');
  }

  /** `guestId`: who root inside is out here. The guest must get to its socket, and no other user, inside or outside. */
  async make(record: InstanceRecord, secrets: Secrets, guestId: number): Promise<void> {
    mkdirSync(this.guest, { recursive: true, mode: 0o700 });
    chownSync(this.guest, guestId, guestId);
    await this.writeSecrets(secrets);
    await this.write(record);
  }

  read(): InstanceRecord | undefined {
    const record = this.#readJson('instance.json');
    return record as InstanceRecord | undefined;
  }

  async write(record: InstanceRecord): Promise<void> {
    writeJson(join(this.path, 'instance.json'), record);
  }

  async writeConfig(config: unknown): Promise<void> {
    writeFileSync(join(this.path, 'config.json'), JSON.stringify(config), { mode: 0o600 });
  }

  readSecrets(): Secrets | undefined {
    const found = this.#readJson('secrets.json') as { current: string; next: string } | undefined;
    if (!found) return undefined;
    return { current: Buffer.from(found.current, 'hex'), next: Buffer.from(found.next, 'hex') };
  }

  async writeSecrets({ current, next }: Secrets): Promise<void> {
    const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
    writeJson(join(this.path, 'secrets.json'), { current: hex(current), next: hex(next) });
  }

  /** What the runtime wrote as the pid of the first process, also when nobody came to note it down. */
  pid(): number | undefined {
    const pid = Number.parseInt(this.#readText('pid') ?? '', 10);
    return Number.isSafeInteger(pid) && pid > 1 ? pid : undefined;
  }

  /** The last lines of what was said about it. */
  lastLines(count: number): string[] {
    const lines = [this.#readText('runtime.log'), this.#readText('console.log')]
      .flatMap((text) => text?.split('\n') ?? [])
      .filter((line) => line.trim() !== '');
    return lines.slice(-count).map((line) => line.slice(0, 500));
  }

  async remove(): Promise<void> {
    await mkdir(this.#trash, { recursive: true, mode: 0o700 });
    const away = join(this.#trash, newId('request'));
    try {
      await rename(this.path, away);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw error;
    }
    await rm(away, { recursive: true, force: true });
  }

  #readText(file: string): string | undefined {
    try {
      return readFileSync(join(this.path, file), 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  #readJson(file: string): unknown {
    const text = this.#readText(file);
    if (text === undefined) return undefined;
    try {
      return JSON.parse(text);
    } catch {
      // It is written whole: one that cannot be read is not ours.
      return undefined;
    }
  }
}
