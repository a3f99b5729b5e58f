import { hostname } from 'node:os';
import {
  CaissonError,
  ownerFromLabels,
  type ReasonCode,
  type SupportFailure,
  type WorkspaceBlueprint,
} from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';
import { makePassable } from '../../isolation/passable-folder.ts';
import { Turns } from '../../turns/turns.ts';
import type {
  Capabilities,
  CreateRequest,
  Driver,
  Inspection,
  Instance,
  InstanceKey,
  InstanceMeter,
  InstanceStats,
  Listing,
  Probe,
} from '../driver.ts';
import { Cgroup, type CgroupLayout, cgroupLayout, cgroupOf } from './cgroup.ts';
import { type Place, sweepTrials } from './find-runtimes.ts';
import { GuestLink } from './guest-link.ts';
import { InstanceFolder, type InstanceRecord } from './instance-folder.ts';
import { isRuntimeName, knownRuntimes } from './known-runtimes.ts';
import { launch } from './launch.ts';
import { leftBehind, removeStates } from './left-behind.ts';
import { isAlive, isEnding, isInCgroup } from './process-identity.ts';
import type { Runtime } from './runtime.ts';
import { Runtimes } from './runtimes.ts';

/** How long the end of a process that was killed may take. A kernel that frees much memory needs some of it. */
const deathMs = 10_000;
/** From the end of its connection to that of its process: well above what a loaded machine takes. */
const deathNoticeMs = 100;
/** Some milliseconds' worth of small files in memory. */
const listedAtOnce = 50;
/** What a sandbox's last words may be. */
const logLines = 100;

export interface OciOptions extends Place {
  readonly name?: string;
}

/**
 * Sandboxes as containers of an OCI runtime on this machine: runc, crun, gVisor's runsc. The runtime starts and removes
 * them; in between Caisson talks to the guest alone.
 *
 * What there is of an instance is its folder (see `instance-folder.ts`), the runtime's own state, its control group and
 * its processes. The folder is made first and goes last, so whatever was cut short is found by it.
 */
export class OciDriver implements Driver {
  readonly name: string;
  readonly capabilities: Capabilities = {
    isolation: 'namespaces',
    storage: 'ours',
    pause: 'freeze',
    snapshots: 'filesystem',
    networkModes: ['off', 'allowlist', 'open'],
    limits: ['cpus', 'memoryMiB', 'diskMiB', 'pids'],
    userNamespace: true,
    readOnlyRoot: true,
    guest: true,
    halt: false,
    stats: true,
    meter: true,
    logs: true,
  };
  readonly #place: Place;
  readonly #turns = new Turns();
  readonly #links = new Map<string, Promise<GuestLink>>();
  onEnded: ((key: InstanceKey) => void) | undefined;
  onGuest: ((key: InstanceKey, guest: GuestClient) => void) | undefined;
  /** How many kills for want of memory each had when it was last seen alive. */
  readonly #oomKills = new Map<string, number>();
  readonly #runtimes: Runtimes;

  constructor(options: OciOptions) {
    this.name = options.name ?? 'oci';
    this.#place = options;
    this.#runtimes = new Runtimes(options);
  }

  async open(signal: AbortSignal): Promise<void> {
    await makePassable(this.#place.root);
    await InstanceFolder.sweep(this.#place.root);
    await sweepTrials(this.#place);
    await this.#runtimes.open(signal);
  }

  async close(): Promise<void> {
    const links = [...this.#links.values()];
    this.#links.clear();
    await Promise.allSettled(links.map(async (link) => (await link).close()));
  }

  async probe(signal: AbortSignal): Promise<Probe> {
    await makePassable(this.#place.root);
    return this.#runtimes.probe(signal);
  }

  supports(blueprint: WorkspaceBlueprint): readonly SupportFailure[] {
    const failures: SupportFailure[] = [];
    const wanted = blueprint.runtime.ociRuntime;
    const why = this.#runtimes.whyNot(wanted);
    if (why !== undefined) {
      const path = wanted === 'auto' ? 'target.runtime' : 'runtime.ociRuntime';
      failures.push({ reason: 'unsupported-runtime-requirement', path, message: why });
    }
    if (blueprint.access.ssh.enabled) {
      const message = 'there is no way in by ssh; use `caisson shell`';
      failures.push({ reason: 'unsupported-access-mode', path: 'access.ssh', message });
    }
    return failures;
  }

  ownIds(blueprint: WorkspaceBlueprint): boolean {
    const wanted = blueprint.runtime.ociRuntime;
    return !isRuntimeName(wanted) || knownRuntimes[wanted].userNamespace;
  }

  create(request: CreateRequest, signal: AbortSignal): Promise<Instance> {
    const folder = this.#folder(request.key);
    return this.#turns.take(folder.name, signal, async (own) => {
      const record = folder.read();
      if (record?.running && isAlive(record.running)) return this.#instance(record, request);
      // What is left of one that ended, or was never finished, is in the way.
      if (record) await this.#remove(folder, record);
      const runtime = await this.#runtimes.find(request.blueprint.runtime.ociRuntime, own);
      try {
        const { record: made, link } = await launch({
          request,
          folder,
          runtime,
          place: this.#place,
          signal: own,
          onClient: (client) => this.onGuest?.(request.key, client),
          onClosed: () => this.#closed(folder),
        });
        this.#links.set(folder.name, Promise.resolve(link));
        return this.#instance(made, request);
      } catch (error) {
        await this.#remove(folder, folder.read());
        throw error;
      }
    });
  }

  async inspect(key: InstanceKey, signal: AbortSignal): Promise<Inspection> {
    signal.throwIfAborted();
    try {
      return this.#look(this.#folder(key));
    } catch (error) {
      return { status: 'unknown', message: (error as Error).message };
    }
  }

  #look(folder: InstanceFolder): Inspection {
    const record = folder.read();
    if (!record) return { status: 'gone' };
    if (!record.running) return { status: 'ended', reason: 'interrupted', message: 'its creation was cut short' };
    if (isAlive(record.running)) return { status: this.#isPaused(folder, record) ? 'paused' : 'running' };
    return { status: 'ended', ...whyEnded(this.#cgroup(folder).oomKills > (this.#oomKills.get(folder.name) ?? 0)) };
  }

  async destroy(key: InstanceKey, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const folder = this.#folder(key);
    this.#turns.interrupt(folder.name, new CaissonError('action_cancelled', `${folder.name} is being destroyed`));
    await this.#turns.take(folder.name, signal, async () => {
      await this.#remove(folder, folder.read());
    });
  }

  async list(signal: AbortSignal): Promise<Listing> {
    const instances: Listing['instances'][number][] = [];
    const orphans: Listing['orphans'][number][] = [];
    for (const [at, name] of InstanceFolder.names(this.#place.root).entries()) {
      signal.throwIfAborted();
      // Its files are read within the call: whoever waits gets a turn now and then.
      if (at % listedAtOnce === listedAtOnce - 1) await new Promise(setImmediate);
      const key = InstanceFolder.keyOf(name);
      const folder = new InstanceFolder(this.#place.root, name);
      const record = key && folder.read();
      const owner = record && ownerFromLabels(record.labels);
      if (!record || !owner) {
        // A folder that is only just being made has no record yet, and somebody who is at work on it.
        const labels = record?.labels ?? {};
        if (!this.#turns.isTaken(name)) orphans.push({ backendName: name, labels, ...(key ? { key } : {}) });
        continue;
      }
      const ended = !record.running || !isAlive(record.running);
      const paused = !ended && this.#isPaused(folder, record);
      instances.push({ key: record.key, owner, labels: record.labels, ended, ...(paused ? { paused } : {}) });
      // One that somebody is at work on gets its link from them.
      if (ended || this.#turns.isTaken(name)) continue;
      const { oomKills } = this.#cgroup(folder);
      // A kill is counted before who was killed is gone: that one is the reason of its end.
      if (record.running && !isEnding(record.running)) this.#oomKills.set(name, oomKills);
      // Its guest is dialling; from now on somebody answers.
      // Where that cannot be had, the others are listed all the same, and whoever asks for this one learns why.
      await this.#link(folder, record).catch(() => {});
    }
    return { instances, orphans };
  }

  async leftovers(signal: AbortSignal): Promise<readonly InstanceKey[]> {
    signal.throwIfAborted();
    return leftBehind(this.#place.root, this.#layout);
  }

  async guest(key: InstanceKey, signal: AbortSignal): Promise<GuestClient> {
    signal.throwIfAborted();
    const link = this.#links.get(InstanceFolder.nameOf(key));
    if (link) return (await link).client;
    const { folder, record } = this.#require(key);
    return (await this.#link(folder, record)).client;
  }

  async pause(key: InstanceKey, signal: AbortSignal): Promise<void> {
    const { folder, record } = this.#require(key);
    if (this.#isPaused(folder, record)) return;
    const runtime = this.#runtime(record);
    if (runtime.known.freezesGroup) return this.#cgroup(folder).freeze(signal);
    try {
      await runtime.pause(folder, signal);
      await folder.write({ ...record, paused: true });
    } catch (error) {
      // One that counts as running must not stand still.
      await runtime.resume(folder).catch(() => {});
      throw error;
    }
  }

  async resume(key: InstanceKey, signal: AbortSignal): Promise<void> {
    const { folder, record } = this.#require(key);
    const runtime = this.#runtime(record);
    if (runtime.known.freezesGroup) return this.#cgroup(folder).thaw();
    if (!this.#isPaused(folder, record)) return;
    await runtime.resume(folder, signal);
    await folder.write({ ...record, paused: false });
  }

  async stats(key: InstanceKey, signal: AbortSignal): Promise<InstanceStats> {
    signal.throwIfAborted();
    const { cpuSeconds, memoryBytes, processes } = this.#cgroup(this.#require(key).folder);
    return { cpuSeconds, memoryBytes, processes };
  }

  async meter(key: InstanceKey, signal: AbortSignal): Promise<InstanceMeter> {
    signal.throwIfAborted();
    const { folder, record } = this.#require(key);
    const wallSeconds = Math.max(0, Date.now() - record.createdAt) / 1000;
    return { cpuSeconds: this.#cgroup(folder).cpuSeconds, wallSeconds };
  }

  async logs(key: InstanceKey, signal: AbortSignal): Promise<readonly string[]> {
    signal.throwIfAborted();
    const folder = this.#folder(key);
    if (!folder.read()) throw lost(folder.name);
    return folder.lastLines(logLines);
  }

  #folder(key: InstanceKey): InstanceFolder {
    return new InstanceFolder(this.#place.root, InstanceFolder.nameOf(key));
  }

  #cgroup(folder: InstanceFolder): Cgroup {
    return new Cgroup(cgroupOf(folder.name), this.#layout);
  }

  get #layout(): CgroupLayout {
    return cgroupLayout() ?? 'v2';
  }

  #isPaused(folder: InstanceFolder, record: InstanceRecord): boolean {
    const { freezesGroup } = this.#runtime(record).known;
    return freezesGroup ? this.#cgroup(folder).isFrozen : record.paused === true;
  }

  #require(key: InstanceKey): { folder: InstanceFolder; record: InstanceRecord } {
    const folder = this.#folder(key);
    const record = folder.read();
    if (!record?.running || !isAlive(record.running)) throw lost(folder.name);
    return { folder, record };
  }

  #instance(record: InstanceRecord, request: CreateRequest): Instance {
    return { key: record.key, owner: request.owner, host: hostname(), notices: record.notices };
  }

  #link(folder: InstanceFolder, record: InstanceRecord): Promise<GuestLink> {
    const present = this.#links.get(folder.name);
    if (present) return present;
    const opening = GuestLink.open(folder, record.key, {
      onClient: (client) => this.onGuest?.(record.key, client),
      onClosed: () => this.#closed(folder),
    }).catch((error) => {
      this.#links.delete(folder.name);
      throw error;
    });
    this.#links.set(folder.name, opening);
    return opening;
  }

  /**
   * A guest that is gone for good ends its connection first, and its process a moment later. Whoever waits for it learns
   * it now; a guest that lives dials again.
   */
  #closed(folder: InstanceFolder): void {
    const look = async () => {
      const record = folder.read();
      const link = this.#links.get(folder.name);
      if (!record?.running || !link || this.#turns.isTaken(folder.name) || isAlive(record.running)) return;
      (await link).client.close();
      this.onEnded?.(record.key);
    };
    // What cannot be seen now is seen at the next look at all of them.
    setTimeout(() => void look().catch(() => {}), deathNoticeMs).unref();
  }

  /** Ends everything of an instance, in an order in which it can be done again from the start at any point. */
  async #remove(folder: InstanceFolder, record: InstanceRecord | undefined): Promise<void> {
    // Without a record nothing was made for it yet, or somebody took its folder away and left its group.
    if (!record) {
      await this.#cgroup(folder).end();
      await removeStates(this.#place.root, folder.name);
      return folder.remove();
    }
    const runtime = this.#runtime(record);
    const link = await this.#links.get(folder.name)?.catch(() => undefined);
    const { freezesGroup } = runtime.known;
    // A runtime that pauses in a way of its own cannot end what it paused.
    if (record.paused && !freezesGroup) await runtime.resume(folder).catch(() => {});
    const pid = this.#firstProcess(folder, record);
    if (pid !== undefined) {
      process.kill(pid, 'SIGKILL');
      // One whose group stands still dies only when it moves again.
      if (freezesGroup && this.#isPaused(folder, record)) await runtime.resume(folder).catch(() => {});
      await link?.disconnected(deathMs);
    }
    this.#links.delete(folder.name);
    this.#oomKills.delete(folder.name);
    await link?.close();
    const isDead = pid === undefined || !isInCgroup(pid, cgroupOf(folder.name));
    await runtime
      .delete(folder, { force: !isDead || !record.running })
      .catch(() => runtime.delete(folder, { force: true }))
      // What died while it was paused makes runsc panic, which has removed everything by then.
      .catch(() => runtime.delete(folder, { force: true }));
    await this.#cgroup(folder).end();
    await folder.remove();
  }

  /** The pid to kill, when it is certain that it is ours. */
  #firstProcess(folder: InstanceFolder, record: InstanceRecord): number | undefined {
    if (record.running) return isAlive(record.running) ? record.running.pid : undefined;
    const pid = folder.pid();
    return pid !== undefined && isInCgroup(pid, cgroupOf(folder.name)) ? pid : undefined;
  }

  #runtime({ runtime, runtimeOptions }: InstanceRecord): Runtime {
    return this.#runtimes.named(runtime, runtimeOptions);
  }
}

function whyEnded(outOfMemory: boolean): { reason: ReasonCode; message: string } {
  if (outOfMemory) return { reason: 'out_of_memory', message: 'the kernel ended it because its memory was used up' };
  return { reason: 'guest_gone', message: 'its guest ended, and every process with it' };
}

function lost(name: string): CaissonError {
  return new CaissonError('instance_lost', `there is no instance ${name} that runs`);
}
