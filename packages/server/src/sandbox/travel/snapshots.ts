import {
  CaissonError,
  canUse,
  hasCode,
  type Id,
  isId,
  type Labels,
  newId,
  refusal,
  type Sandbox,
  type Snapshot,
} from '@caisson/contract';
import { within } from '../../drivers/within.ts';
import type { IdempotentRequest } from '../../store/idempotency.ts';
import {
  asSnapshot,
  type ForeignSnapshot,
  type NewSnapshot,
  type SnapshotFilter,
  type SnapshotInputs,
  type StoredSnapshot,
} from '../../store/snapshots.ts';
import type { Store } from '../../store/store.ts';
import { type Caller, canSee, projectOf, requireChange } from '../../tenancy/caller.ts';
import { withDeadline } from '../deadline.ts';
import type { Sandboxes } from '../sandboxes.ts';
import type { WorkContext } from '../work-context.ts';
import { inStorage, type SnapshotStorage, snapshotStorage } from './snapshot-storage.ts';
import { StillMoment } from './stillness.ts';

/** A person who keeps more by hand does not find them again; retention takes care of the others. */
const maxNamed = 1_000;
/** How long whoever removes one waits for its files to go. */
const removalMs = 2_000;

type Wanted = Omit<NewSnapshot, 'id' | 'inputs'>;
type OwnFilter = Omit<SnapshotFilter, 'tenant' | 'project'> & { project?: string | undefined };

/** Making, keeping and removing snapshots. Every method that takes a caller checks the owner. */
export class Snapshots {
  readonly #work: WorkContext;
  readonly #store: Store;
  readonly #sandboxes: Sandboxes;
  readonly #atWork = new Set<string>();
  readonly #making = new Set<Promise<Snapshot>>();
  readonly #stop = new AbortController();

  constructor(work: WorkContext, sandboxes: Sandboxes) {
    this.#work = work;
    this.#store = work.store;
    this.#sandboxes = sandboxes;
  }

  /** Ends what is being made, and whatever begins from now on; for a server that shuts down. */
  stop(reason: CaissonError): void {
    this.#stop.abort(reason);
  }

  /** Resolves when none is being made any more: whatever stood still for one goes on. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#making);
  }

  async create(
    caller: Caller,
    id: string,
    wanted: { readonly name?: string | undefined; readonly labels?: Labels | undefined },
    idempotency?: IdempotentRequest,
  ): Promise<Snapshot> {
    const sandbox = await this.#sandboxes.own(caller, id);
    await this.#requirePlace(sandbox.id);
    return this.make(sandbox, { kind: 'named', name: wanted.name ?? null, labels: wanted.labels ?? {} }, idempotency);
  }

  async turn(caller: Caller, id: string, labels: Labels = {}, idempotency?: IdempotentRequest): Promise<Snapshot> {
    const sandbox = await this.#sandboxes.own(caller, id);
    return this.make(sandbox, { kind: 'turn', name: null, labels }, idempotency);
  }

  /** After a tool, for a sandbox that asks for it. */
  async tool(sandbox: Sandbox, call: { readonly tool: string; readonly callId: string }): Promise<Id<'snapshot'>> {
    const labels = { tool: call.tool, call: call.callId.slice(0, 256) };
    return (await this.make(sandbox, { kind: 'tool', name: null, labels })).id;
  }

  /** Keeps the files of a sandbox as they are at one moment. What fails leaves nothing. */
  async make(sandbox: Sandbox, wanted: Wanted, idempotency?: IdempotentRequest): Promise<Snapshot> {
    const storage = snapshotStorage(this.#work, sandbox);
    // Before it waits for its turn: a rollback takes its time, and whoever asks meanwhile is refused at once.
    requireFilesOf(sandbox);
    const making = this.#work.stillness.take(sandbox.id, this.#stop.signal, async (signal) => {
      const present = await this.#present(sandbox.id);
      const id = newId('snapshot');
      this.#atWork.add(id);
      try {
        await this.#store.snapshots.begin(present, { ...wanted, id, inputs: await this.#inputs(present) });
        const moment = new StillMoment(this.#work.driver(present.driver), present);
        const about = { sandbox: present.id, driver: present.driver ?? undefined };
        await this.#work.spans.run('snapshot', about, () =>
          withDeadline('taking the snapshot', this.#work.deadlines.snapshotMs, signal, (inner) =>
            storage.snapshot(present, id, inner, moment.run),
          ),
        );
        return await this.#store.snapshots.finish(id, moment.ms, idempotency);
      } catch (error) {
        await this.discard(id).catch(() => {});
        throw error;
      } finally {
        // What is to be forked stays in use until its maker lets go.
        if (wanted.kind !== 'fork') this.letGo(id);
      }
    });
    this.#making.add(making);
    const snapshot = await making.finally(() => this.#making.delete(making));
    // Nobody waits for what there is too much of.
    if (wanted.kind === 'turn' || wanted.kind === 'tool') void this.#prune(sandbox, wanted.kind).catch(() => {});
    return snapshot;
  }

  /** Keeps one that comes from elsewhere, whose files `fill` brings. What fails leaves nothing. */
  async adopt(snapshot: ForeignSnapshot, fill: () => Promise<void>): Promise<Snapshot> {
    this.#atWork.add(snapshot.id);
    try {
      await this.#store.snapshots.beginForeign(snapshot);
      await fill();
      return await this.#store.snapshots.finish(snapshot.id, null);
    } catch (error) {
      await this.discard(snapshot.id).catch(() => {});
      throw error;
    } finally {
      this.letGo(snapshot.id);
    }
  }

  async get(caller: Caller, id: string): Promise<Snapshot> {
    const snapshot = await this.stored(caller, id);
    return { ...asSnapshot(snapshot), exclusiveBytes: await this.#bytes(snapshot.id) };
  }

  /** The same as it is kept, for whoever makes something of it. */
  async stored(caller: Caller, id: string): Promise<StoredSnapshot> {
    const snapshot = await this.#store.snapshots.get(id);
    if (snapshot?.state !== 'ready' || snapshot.kind === 'fork' || !canSee(caller, snapshot.owner))
      throw new CaissonError('snapshot_not_found', `there is no snapshot ${id}`);
    return snapshot;
  }

  async list(caller: Caller, filter: OwnFilter, usage: boolean): Promise<Snapshot[]> {
    const project = projectOf(caller, filter.project);
    const found = await this.#store.snapshots.list({ ...filter, tenant: caller.owner.tenant, project });
    if (!usage) return found;
    return Promise.all(found.map(async (one) => ({ ...one, exclusiveBytes: await this.#bytes(one.id) })));
  }

  /** One of a sandbox, or any that the caller may see, by its name or its id. */
  async find(caller: Caller, sandbox: Sandbox, ref: string): Promise<StoredSnapshot> {
    if (isId('snapshot', ref)) return this.stored(caller, ref);
    const named = await this.#store.snapshots.named(sandbox.id, ref);
    if (!named) throw new CaissonError('snapshot_not_found', `${sandbox.id} has no snapshot ${ref}`);
    return named;
  }

  async relabel(
    caller: Caller,
    id: string,
    change: { readonly name?: string | undefined; readonly labels?: Labels | undefined },
  ): Promise<Snapshot> {
    const snapshot = await this.stored(caller, id);
    requireChange(caller, snapshot);
    const { name, labels } = change;
    if (name !== undefined && snapshot.kind !== 'named') await this.#requirePlace(snapshot.sandbox);
    return this.#store.snapshots.relabel(id, {
      ...(name === undefined ? {} : { name }),
      ...(labels === undefined ? {} : { labels }),
    });
  }

  async remove(caller: Caller, id: string): Promise<Snapshot> {
    const snapshot = await this.stored(caller, id);
    requireChange(caller, snapshot);
    // From its first write on it is gone for everybody. Its files may stay for somebody who reads them.
    const removing = this.discard(snapshot.id);
    removing.catch(() => {});
    await within(removing, removalMs);
    return asSnapshot(snapshot);
  }

  /**
   * Removes one, files and record. What is cut short goes on at the reconciler's next pass; so does what a sandbox is just
   * made of, or put back to: nobody else finds it any more, and its files go when they are done. Then it answers false.
   */
  async discard(id: Id<'snapshot'>): Promise<boolean> {
    this.#atWork.add(id);
    try {
      return await this.#drop(id);
    } finally {
      this.letGo(id);
    }
  }

  letGo(id: Id<'snapshot'>): void {
    this.#atWork.delete(id);
  }

  /** Whether this server is making, using or removing it just now. */
  isAtWork(id: string): boolean {
    return this.#atWork.has(id);
  }

  async #drop(id: Id<'snapshot'>): Promise<boolean> {
    await this.#store.snapshots.beginDelete(id);
    if (await this.#store.snapshots.isInUse(id)) return false;
    const storage = await this.#storageOf(id);
    const signal = new AbortController().signal;
    await withDeadline('removing the snapshot', this.#work.deadlines.endMs, signal, async (inner) =>
      storage?.removeSnapshot(id, inner),
    );
    await this.#store.snapshots.endDelete(id);
    return true;
  }

  async #prune(sandbox: Sandbox, kind: 'turn' | 'tool'): Promise<void> {
    for (const id of await this.#store.snapshots.beyond(sandbox.id, kind, sandbox.policy.keepTurns)) {
      await this.discard(id);
    }
  }

  async #bytes(id: Id<'snapshot'>): Promise<number | null> {
    const storage = await this.#storageOf(id);
    const signal = AbortSignal.timeout(this.#work.deadlines.inspectMs);
    return storage?.exclusiveBytes(id, signal).catch(() => null) ?? null;
  }

  /** Where one lies; undefined when its driver is not installed any more, or keeps none. */
  async #storageOf(id: Id<'snapshot'>): Promise<SnapshotStorage | undefined> {
    const inputs = await this.#store.snapshots.inputs(id);
    const ours = this.#work.filesystems?.storage;
    // What has no record is a stray of our own storage.
    if (!inputs) return ours && inStorage(ours);
    try {
      return snapshotStorage(this.#work, inputs);
    } catch (error) {
      if (hasCode(error, 'driver_not_found', 'snapshots_not_available')) return undefined;
      throw error;
    }
  }

  async #requirePlace(sandbox: Id<'sandbox'>): Promise<void> {
    if ((await this.#store.snapshots.count(sandbox, 'named')) < maxNamed) return;
    throw new CaissonError('max_snapshots_reached', `${sandbox} has ${maxNamed} named snapshots`);
  }

  async #present(id: Id<'sandbox'>): Promise<Sandbox> {
    const sandbox = await this.#store.sandboxes.get(id);
    if (!sandbox) throw new CaissonError('sandbox_not_found', `there is no sandbox ${id}`);
    return requireFilesOf(sandbox);
  }

  /** What a sandbox made from it will be made of: as its own last try was. */
  async #inputs(sandbox: Sandbox): Promise<SnapshotInputs> {
    const { attempts } = this.#store;
    const attempt = sandbox.attempt === null ? undefined : await attempts.get(sandbox.attempt);
    const image = await attempts.image(sandbox.id);
    if (!attempt || !image) throw new CaissonError('attempt_not_found', `nobody knows what ${sandbox.id} was made of`);
    const { spec, resolvedSpec, blueprint } = attempt;
    const { driver, persistence, profile, policy } = sandbox;
    return { spec, resolvedSpec, blueprint, driver: driver ?? '', persistence, profile, policy, image };
  }
}

function requireFilesOf(sandbox: Sandbox): Sandbox {
  const { id, state, persistence } = sandbox;
  if (canUse('snapshot', state) && (state !== 'stopped' || persistence === 'persistent')) return sandbox;
  throw new CaissonError(refusal(state), `${id} is ${state}: it has no files to keep now`);
}
