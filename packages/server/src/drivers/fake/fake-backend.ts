import { existsSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { InstanceKey } from '../driver.ts';

export interface FakeInstance {
  readonly labels: Readonly<Record<string, string>>;
  readonly key: InstanceKey;
  readonly status: 'making' | 'running' | 'paused' | 'halted' | 'ended';
  readonly endedBecause?: { reason: 'out_of_memory' | 'guest_gone'; message: string };
}

/** One change, as a line of the log: the instance as it is from then on, or that it is gone. */
interface Change {
  readonly name: string;
  readonly instance: FakeInstance | null;
}

/**
 * Where the fake's instances live: in memory for a test, in a folder for a server, which it then outlives as a real
 * backend would. Two drivers over one backend are the server before and after a restart.
 *
 * On disk it is a log, a line for each change. A line is written by one call, so that of a process that is killed the
 * last line is whole or not there; the log is shortened when it is opened.
 */
export class FakeBackend {
  readonly #instances: Map<string, FakeInstance>;
  readonly #log: number | undefined;
  /** A backend that is away answers `unknown` to every inspection and fails everything else. */
  away = false;

  constructor(folder?: string) {
    this.#instances = folder === undefined ? new Map() : readInstances(folder);
    if (folder === undefined) return;
    mkdirSync(folder, { recursive: true });
    const file = logFile(folder);
    const shortened = [...this.#instances].map(([name, instance]) => line({ name, instance })).join('');
    writeFileSync(`${file}.new`, shortened);
    renameSync(`${file}.new`, file);
    this.#log = openSync(file, 'a');
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
    this.#change({ name: FakeBackend.nameOf(instance.key), instance });
  }

  /** Also what somebody else does behind our back. */
  remove(key: InstanceKey): void {
    const name = FakeBackend.nameOf(key);
    if (this.#instances.has(name)) this.#change({ name, instance: null });
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

  #change(change: Change): void {
    apply(this.#instances, change);
    // It begins with a line end too: one that was cut short must not swallow the next.
    if (this.#log !== undefined) writeSync(this.#log, `\n${line(change)}`);
  }
}

/** What a backend's folder says at this moment, also while another process writes to it. */
export function readInstances(folder: string): Map<string, FakeInstance> {
  const instances = new Map<string, FakeInstance>();
  const file = logFile(folder);
  if (!existsSync(file)) return instances;
  for (const one of readFileSync(file, 'utf8').split('\n')) {
    const change = read(one);
    if (change) apply(instances, change);
  }
  return instances;
}

function apply(instances: Map<string, FakeInstance>, { name, instance }: Change): void {
  if (instance === null) instances.delete(name);
  else instances.set(name, instance);
}

function logFile(folder: string): string {
  return join(folder, 'instances.log');
}

/** A line that a full disk cut short never happened. */
function read(one: string): Change | undefined {
  try {
    return JSON.parse(one) as Change;
  } catch {
    return undefined;
  }
}

function line(change: Change): string {
  return `${JSON.stringify(change)}\n`;
}
