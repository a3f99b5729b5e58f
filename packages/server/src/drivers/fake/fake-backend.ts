import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { InstanceKey } from '../driver.ts';

export interface FakeInstance {
  readonly labels: Readonly<Record<string, string>>;
  readonly key: InstanceKey;
  readonly status: 'making' | 'running' | 'paused' | 'halted' | 'ended';
  readonly endedBecause?: { reason: 'out_of_memory' | 'guest_gone'; message: string };
}

/**
 * Where the fake's instances live: in memory for a test, in a folder for a server, which it then outlives as a real
 * backend would. Two drivers over one backend are the server before and after a restart.
 */
export class FakeBackend {
  readonly #instances = new Map<string, FakeInstance>();
  readonly #folder: string | undefined;
  /** A backend that is away answers `unknown` to every inspection and fails everything else. */
  away = false;

  constructor(folder?: string) {
    this.#folder = folder;
    if (folder === undefined) return;
    mkdirSync(folder, { recursive: true });
    for (const file of readdirSync(folder)) {
      if (!file.endsWith('.json')) continue;
      this.#instances.set(file.slice(0, -5), JSON.parse(readFileSync(join(folder, file), 'utf8')) as FakeInstance);
    }
  }

  static nameOf(key: InstanceKey): string {
    return `${key.sandbox}.${key.incarnation}`;
  }

  find(name: string): FakeInstance | undefined {
    return this.#instances.get(name);
  }

  all(): Iterable<[string, FakeInstance]> {
    return this.#instances;
  }

  put(instance: FakeInstance): void {
    const name = FakeBackend.nameOf(instance.key);
    this.#instances.set(name, instance);
    if (this.#folder === undefined) return;
    // Whole or not at all, as a backend's own record would be.
    const temporary = join(this.#folder, `${name}.new`);
    writeFileSync(temporary, JSON.stringify(instance));
    renameSync(temporary, join(this.#folder, `${name}.json`));
  }

  /** Also what somebody else does behind our back. */
  remove(key: InstanceKey): void {
    const name = FakeBackend.nameOf(key);
    this.#instances.delete(name);
    if (this.#folder !== undefined && existsSync(this.#folder))
      rmSync(join(this.#folder, `${name}.json`), { force: true });
  }

  /** Leaves the instance without the labels that tell its owner; answers what the backend calls it. */
  forgetOwner(key: InstanceKey): string {
    const name = FakeBackend.nameOf(key);
    const instance = this.#instances.get(name);
    if (instance) this.put({ ...instance, labels: {} });
    return name;
  }

  end(key: InstanceKey, reason: 'out_of_memory' | 'guest_gone', message: string): void {
    const instance = this.#instances.get(FakeBackend.nameOf(key));
    if (instance) this.put({ ...instance, status: 'ended', endedBecause: { reason, message } });
  }
}
