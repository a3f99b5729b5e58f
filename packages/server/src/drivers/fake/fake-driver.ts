import {
  CaissonError,
  type Owner,
  ownerFromLabels,
  ownerLabels,
  type SupportFailure,
  type WorkspaceBlueprint,
} from '@caisson/contract';
import { FaultPlan } from '../../faults/fault-plan.ts';
import type {
  Capabilities,
  CreateRequest,
  Driver,
  Inspection,
  Instance,
  InstanceKey,
  InstanceStats,
  Listing,
  Probe,
} from '../driver.ts';
import { FakeBackend, type FakeInstance } from './fake-backend.ts';

/**
 * A driver without a backend, for everything above drivers. It keeps the laws of `driver.ts` to the letter, on a
 * `FakeBackend` that outlives it as a real backend outlives the server, and fails, hangs or vanishes where a test asks.
 */
export type FakeStep =
  | 'probe.before'
  | 'create.before'
  | 'create.made'
  | 'create.after'
  | 'inspect.before'
  | 'destroy.before'
  | 'destroy.after'
  | 'list.before'
  | 'pause.before'
  | 'resume.before'
  | 'halt.before'
  | 'stats.before';

export interface FakeOptions {
  readonly backend?: FakeBackend;
  readonly name?: string;
  readonly host?: string;
  /** All of them when absent. */
  readonly networkModes?: Capabilities['networkModes'];
}

export class FakeDriver implements Driver {
  readonly name: string;
  readonly host?: string;
  readonly capabilities: Capabilities = {
    isolation: 'none',
    storage: 'backend',
    pause: 'freeze',
    snapshots: 'none',
    networkModes: ['off', 'allowlist', 'open'],
    limits: ['cpus', 'memoryMiB', 'diskMiB', 'pids'],
    userNamespace: false,
    guest: false,
    halt: true,
    stats: true,
    meter: false,
    logs: false,
  };
  readonly backend: FakeBackend;
  readonly faults = new FaultPlan<FakeStep>('driver_failed');
  readonly #making = new Map<string, AbortController>();

  constructor(options: FakeOptions = {}) {
    this.name = options.name ?? 'fake';
    if (options.host !== undefined) this.host = options.host;
    const { networkModes } = options;
    if (networkModes) this.capabilities = { ...this.capabilities, networkModes };
    this.backend = options.backend ?? new FakeBackend();
  }

  async probe(signal: AbortSignal): Promise<Probe> {
    await this.faults.pass('probe.before', signal);
    if (this.backend.away) return { usable: false, why: 'the fake backend is away', fix: 'bring it back' };
    return { usable: true, version: '1', detail: 'holds sandboxes in memory; they run nothing' };
  }

  supports(blueprint: WorkspaceBlueprint): readonly SupportFailure[] {
    if (!blueprint.access.ssh.enabled) return [];
    return [
      { reason: 'unsupported-access-mode', path: 'access.ssh', message: 'the fake driver has no guest to log in to' },
    ];
  }

  async create(request: CreateRequest, signal: AbortSignal): Promise<Instance> {
    await this.faults.pass('create.before', signal);
    this.#reach();
    const name = FakeBackend.nameOf(request.key);
    const present = this.backend.find(name);
    if (present !== undefined && present.status !== 'making' && present.status !== 'halted') {
      return this.#instance(request.key, request.owner);
    }
    const labels = { ...request.labels, ...ownerLabels(request.owner) };
    const vanish = () => this.backend.remove(request.key);
    this.backend.put({ labels, key: request.key, status: 'making' });
    const making = new AbortController();
    this.#making.set(name, making);
    const own = AbortSignal.any([signal, making.signal]);
    try {
      await this.faults.pass('create.made', own, vanish);
      this.backend.put({ labels, key: request.key, status: 'running' });
      await this.faults.pass('create.after', own, vanish);
    } catch (error) {
      if (present?.status === 'halted') this.backend.put(present);
      else vanish();
      throw error;
    } finally {
      if (this.#making.get(name) === making) this.#making.delete(name);
    }
    return this.#instance(request.key, request.owner);
  }

  async inspect(key: InstanceKey, signal: AbortSignal): Promise<Inspection> {
    await this.faults.pass('inspect.before', signal, () => this.backend.remove(key));
    if (this.backend.away) return { status: 'unknown', message: 'the fake backend does not answer' };
    const instance = this.backend.find(FakeBackend.nameOf(key));
    if (instance === undefined || instance.status === 'halted') return { status: 'gone' };
    if (instance.endedBecause) return { status: 'ended', ...instance.endedBecause };
    if (instance.status === 'making')
      return { status: 'ended', reason: 'interrupted', message: 'its creation was cut short' };
    return { status: instance.status === 'paused' ? 'paused' : 'running' };
  }

  async destroy(key: InstanceKey, signal: AbortSignal): Promise<void> {
    await this.faults.pass('destroy.before', signal);
    this.#reach();
    const name = FakeBackend.nameOf(key);
    this.#making.get(name)?.abort(new CaissonError('action_cancelled', `${name} is being destroyed`));
    this.backend.remove(key);
    await this.faults.pass('destroy.after', signal);
  }

  async list(signal: AbortSignal): Promise<Listing> {
    await this.faults.pass('list.before', signal);
    this.#reach();
    const instances: Listing['instances'][number][] = [];
    const orphans: Listing['orphans'][number][] = [];
    for (const [backendName, instance] of this.backend.all()) {
      const owner = ownerFromLabels(instance.labels);
      const { labels } = instance;
      if (owner === undefined) orphans.push({ backendName, key: instance.key, labels });
      else if (instance.status !== 'halted')
        instances.push({
          key: instance.key,
          owner,
          labels,
          ended: instance.status === 'ended' || instance.status === 'making',
          ...(instance.status === 'paused' ? { paused: true } : {}),
        });
    }
    return { instances, orphans };
  }

  async pause(key: InstanceKey, signal: AbortSignal): Promise<void> {
    await this.faults.pass('pause.before', signal, () => this.backend.remove(key));
    this.backend.put({ ...this.#require(key), status: 'paused' });
  }

  async resume(key: InstanceKey, signal: AbortSignal): Promise<void> {
    await this.faults.pass('resume.before', signal, () => this.backend.remove(key));
    this.backend.put({ ...this.#require(key), status: 'running' });
  }

  async halt(key: InstanceKey, signal: AbortSignal): Promise<void> {
    await this.faults.pass('halt.before', signal, () => this.backend.remove(key));
    this.#reach();
    const instance = this.backend.find(FakeBackend.nameOf(key));
    if (instance) this.backend.put({ ...instance, status: 'halted' });
  }

  async stats(key: InstanceKey, signal: AbortSignal): Promise<InstanceStats> {
    await this.faults.pass('stats.before', signal, () => this.backend.remove(key));
    const instance = this.#require(key);
    return { cpuSeconds: 0, memoryBytes: 0, processes: instance.status === 'running' ? 1 : 0 };
  }

  #instance(key: InstanceKey, owner: Owner): Instance {
    return {
      key,
      owner,
      host: this.host ?? 'fake',
      notices: ['The fake driver runs nothing: this sandbox is a record only.'],
    };
  }

  #reach(): void {
    if (this.backend.away) throw new CaissonError('driver_failed', 'the fake backend does not answer');
  }

  #require(key: InstanceKey): FakeInstance {
    this.#reach();
    const instance = this.backend.find(FakeBackend.nameOf(key));
    if (instance === undefined)
      throw new CaissonError('instance_lost', `there is no instance of ${FakeBackend.nameOf(key)}`);
    return instance;
  }
}
