import { CaissonError, type SupportFailure, type WorkspaceBlueprint } from '@caisson/contract';
import type { Caisson, SandboxHandle } from '@caisson/sdk';
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
} from '../../packages/server/src/drivers/driver.ts';

/** Where a sandbox carries the key that the suite chose: the server chooses ids of its own. */
const label = 'conformance';

/**
 * A driver that is a whole server: what the suite asks goes through the SDK, HTTP, the record, the runner and the driver
 * below. It has the abilities for which there are routes. What lies inside is reached by the SDK and not by a guest.
 */
export class HttpDriver implements Driver {
  readonly name: string;
  readonly capabilities: Capabilities;
  readonly #caisson: Caisson;

  constructor(caisson: Caisson, below: Pick<Driver, 'name' | 'capabilities'>) {
    this.name = below.name;
    this.capabilities = {
      ...below.capabilities,
      ...{ storage: 'backend', pause: 'none', snapshots: 'none', halt: false, guest: false, meter: false, logs: false },
    };
    this.#caisson = caisson;
  }

  async probe(signal: AbortSignal): Promise<Probe> {
    const { checks, version } = await this.#caisson.doctor({ signal });
    const check = checks.find(({ name }) => name === `driver ${this.name}`);
    if (check?.ok) return { usable: true, version, detail: check.detail };
    return { usable: false, why: check?.detail ?? 'the doctor does not know it', fix: check?.fix ?? '' };
  }

  /** A server tells it by refusing to create. */
  supports(): readonly SupportFailure[] {
    return [];
  }

  async create({ key, owner, blueprint }: CreateRequest, signal: AbortSignal): Promise<Instance> {
    const { scope } = owner;
    const request = {
      spec: specOf(blueprint),
      labels: { [label]: nameOf(key) },
      ...(scope === undefined ? {} : { scope }),
    };
    const options = { signal, idempotencyKey: nameOf(key).replace('.', '-') };
    const { record } = await (await this.#caisson.sandboxes.create(request, options)).untilSettled({ signal });
    const { state, reason, host, notices } = record;
    if (state !== 'ready') throw new CaissonError('driver_failed', `it is ${state}: ${reason?.message}`);
    return { key, owner: record.owner, host: host ?? '', notices };
  }

  async inspect(key: InstanceKey, signal: AbortSignal): Promise<Inspection> {
    const sandbox = await this.find(key, signal);
    if (!sandbox) return { status: 'gone' };
    const { state, reason } = sandbox.record;
    if (state === 'ready') return { status: 'running' };
    if (state !== 'failed') return { status: 'unknown', message: state };
    // A server that looks while its instance is being removed sees only that the guest is gone.
    if (reason === null || reason.code === 'instance_gone' || reason.code === 'guest_gone') return { status: 'gone' };
    return { status: 'ended', reason: reason.code, message: reason.message };
  }

  async destroy(key: InstanceKey, signal: AbortSignal): Promise<void> {
    await (await this.find(key, signal))?.destroy({ signal });
  }

  async list(signal: AbortSignal): Promise<Listing> {
    const instances: Listing['instances'][number][] = [];
    for await (const { record } of this.#caisson.sandboxes.list({}, { signal })) {
      const key = keyFrom(record.labels[label] ?? '');
      const { owner, labels, state } = record;
      if (key) instances.push({ key, owner, labels, ended: state === 'failed' });
    }
    return { instances, orphans: [] };
  }

  async stats(key: InstanceKey, signal: AbortSignal): Promise<InstanceStats> {
    const sandbox = await this.find(key, signal);
    if (!sandbox) throw new CaissonError('instance_lost', `there is no sandbox of ${nameOf(key)}`);
    const { cpuSeconds, memoryBytes, processes } = await sandbox.stats({ signal });
    return { cpuSeconds, memoryBytes, processes };
  }

  /** The sandbox that stands for a key; undefined when there is none or it is destroyed. */
  async find(key: InstanceKey, signal: AbortSignal): Promise<SandboxHandle | undefined> {
    const { items } = await this.#caisson.sandboxes.page({ labels: { [label]: nameOf(key) } }, { signal });
    return items[0];
  }

  /** Waits until the server has seen that its instance is not there any more. */
  async untilLost(key: InstanceKey, signal: AbortSignal): Promise<void> {
    const sandbox = await this.find(key, signal);
    if (!sandbox) throw new Error(`there is no sandbox of ${nameOf(key)}`);
    for await (const { data } of sandbox.events({ after: 0, signal })) if (data.to === 'failed') return;
  }
}

/** What the suite asks of a blueprint, as a caller writes it. */
function specOf({ runtime }: WorkspaceBlueprint): Record<string, unknown> {
  const { ociRuntime, network, resources, readOnlyRoot = false } = runtime;
  const own = { ociRuntime, network: { mode: network.mode }, resources, readOnlyRoot };
  return { source: { kind: 'none' }, os: 'host', runtime: own };
}

function nameOf(key: InstanceKey): string {
  return `${key.sandbox}.${key.incarnation}`;
}

function keyFrom(name: string): InstanceKey | undefined {
  const [sandbox, incarnation] = name.split('.');
  return incarnation === undefined
    ? undefined
    : { sandbox: sandbox as InstanceKey['sandbox'], incarnation: Number(incarnation) };
}
