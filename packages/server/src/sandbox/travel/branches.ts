import {
  type Attempt,
  CaissonError,
  canUse,
  type Id,
  type Labels,
  newId,
  type Owner,
  refusal,
  type Sandbox,
  type WorkspaceBlueprint,
} from '@caisson/contract';
import { leaseEnd, leaseTerms } from '../../leases/lease-terms.ts';
import type { ProfileCatalog } from '../../profiles/catalog.ts';
import type { IdempotentRequest } from '../../store/idempotency.ts';
import type { Limits } from '../../store/limits.ts';
import type { NewSandbox } from '../../store/sandboxes.ts';
import type { SnapshotInputs, StoredSnapshot } from '../../store/snapshots.ts';
import type { Caller } from '../../tenancy/caller.ts';
import { type Outcome, settle } from '../outcome.ts';
import type { Operation, Runner } from '../runner.ts';
import type { Sandboxes } from '../sandboxes.ts';
import { sizeOf, termsOf } from '../size.ts';
import type { WorkContext } from '../work-context.ts';
import { snapshotStorage } from './snapshot-storage.ts';
import type { Snapshots } from './snapshots.ts';

/** What a new sandbox has of its own, whatever files it begins with. */
export interface Place {
  readonly name?: string | undefined;
  readonly labels?: Labels | undefined;
  readonly scope?: string | undefined;
  readonly ttlSeconds?: number | undefined;
  readonly waitSeconds: number;
}

export interface BranchesContext {
  readonly work: WorkContext;
  readonly runner: Runner;
  readonly sandboxes: Sandboxes;
  readonly snapshots: Snapshots;
  readonly profiles: ProfileCatalog;
  readonly limits: Limits;
  readonly host: string;
}

/** Going back to a snapshot, and on from one in new sandboxes. */
export class Branches {
  readonly #context: BranchesContext;

  constructor(context: BranchesContext) {
    this.#context = context;
  }

  async rollback(
    caller: Caller,
    id: string,
    to: { readonly snapshot: string; readonly force: boolean; readonly waitSeconds: number },
    idempotency?: IdempotentRequest,
  ): Promise<Outcome> {
    const { sandboxes, snapshots, runner, work } = this.#context;
    const sandbox = await sandboxes.changeable(caller, id, 'rollback');
    const target = await snapshots.find(caller, sandbox, to.snapshot);
    snapshotStorage(work, sandbox);
    if (target.sandbox !== sandbox.id && !(await this.#fits(target, sandbox))) {
      const hint = 'Restore it as a new sandbox: `caisson restore`.';
      throw new CaissonError('request_invalid', `${target.id} is of another kind of sandbox`, { hint });
    }
    const running = work.inFlight.count(sandbox.id);
    if (running > 0 && !to.force) {
      throw new CaissonError('tools_in_flight', `${running} tools run in ${sandbox.id}`, { context: { running } });
    }
    const change = { rollbackTo: target.id, reason: null, endInstance: true, idempotency };
    // A tool that begins between the count and the state would be ended by a rollback that was to be refused.
    const operation = await work.inFlight.holdOff(sandbox.id, () =>
      runner.begin(sandbox, 'rollback', 'rolling_back', change),
    );
    return settle(work.store, operation, sandbox.id, to.waitSeconds);
  }

  /** A new sandbox of the caller that begins with the files of a snapshot. */
  async restore(caller: Caller, id: string, place: Place, idempotency?: IdempotentRequest): Promise<Outcome> {
    const { snapshots, work } = this.#context;
    const snapshot = await snapshots.stored(caller, id);
    const inputs = await this.#inputs(snapshot.id);
    const { operation, sandbox } = this.#begin('restore', caller, snapshot, inputs, place, idempotency);
    return { ...(await settle(work.store, await operation, sandbox, place.waitSeconds)), created: true };
  }

  /**
   * New sandboxes that begin with the files of a live one at one moment. Those that cannot be made are told as one error
   * that names the others.
   */
  async fork(caller: Caller, id: string, count: number, place: Omit<Place, 'name'>): Promise<Outcome[]> {
    const { sandboxes, snapshots, work } = this.#context;
    const sandbox = await sandboxes.own(caller, id);
    if (!canUse('fork', sandbox.state))
      throw new CaissonError(refusal(sandbox.state), `${id} is ${sandbox.state}: it cannot fork now`);
    const made = await snapshots.make(sandbox, { kind: 'fork', name: null, labels: {} });
    try {
      const inputs = await this.#inputs(made.id);
      const begun = Array.from({ length: count }, () =>
        this.#begin('fork', caller, { ...made, kind: 'fork', state: 'ready' }, inputs, place),
      );
      const outcomes = await Promise.allSettled(
        begun.map(async ({ operation, sandbox: one }) => settle(work.store, await operation, one, place.waitSeconds)),
      );
      return allOrError(outcomes);
    } finally {
      // While one of them is still on its way, the reconciler keeps it.
      if (await work.store.snapshots.isInUse(made.id)) snapshots.letGo(made.id);
      else await snapshots.discard(made.id).catch(() => {});
    }
  }

  /** Whether files of another sandbox can be this one's: of the same spec, and kept where this one's are. */
  async #fits({ id, blueprintDigest }: StoredSnapshot, sandbox: Sandbox): Promise<boolean> {
    if (blueprintDigest !== sandbox.blueprintDigest) return false;
    return (await this.#inputs(id)).driver === sandbox.driver;
  }

  async #inputs(snapshot: Id<'snapshot'>): Promise<SnapshotInputs> {
    const inputs = await this.#context.work.store.snapshots.inputs(snapshot);
    if (!inputs) throw new CaissonError('snapshot_not_found', `there is no snapshot ${snapshot}`);
    return inputs;
  }

  #begin(
    action: 'restore' | 'fork',
    caller: Caller,
    snapshot: StoredSnapshot,
    inputs: SnapshotInputs,
    place: Place,
    idempotency?: IdempotentRequest,
  ): { readonly operation: Promise<Operation>; readonly sandbox: Id<'sandbox'> } {
    const { runner, limits, host, work } = this.#context;
    snapshotStorage(work, inputs);
    const profile = inputs.profile && this.#context.profiles.find(inputs.profile.name, inputs.profile.version);
    const lease = leaseTerms(profile ?? undefined, { ttlSeconds: place.ttlSeconds });
    const id = newId('sandbox');
    const size = sizeOf(inputs.blueprint as WorkspaceBlueprint);
    const where = work.driver(inputs.driver).host ?? host;
    const record: NewSandbox = {
      id,
      owner: ownerOf(caller, snapshot, place),
      name: place.name ?? null,
      slot: null,
      profile: inputs.profile,
      labels: place.labels ?? {},
      driver: inputs.driver,
      notices: [],
      // Where its files are.
      host: where,
      blueprintDigest: snapshot.blueprintDigest,
      persistence: inputs.persistence,
      expiresAt: leaseEnd(lease, Date.now()),
      lease,
      policy: inputs.policy,
      // That of a fork is nobody's to see, and soon gone; what it hangs on stays.
      origin: { sandbox: snapshot.sandbox, snapshot: snapshot.kind === 'fork' ? null : snapshot.id },
      head: snapshot.kind === 'fork' ? snapshot.parent : snapshot.id,
      size,
      terms: termsOf(work, { driver: inputs.driver, host: where }, size),
    };
    const insert = async () =>
      (await work.store.sandboxes.create(record, attemptOf(action, snapshot, inputs), limits, idempotency)).sandbox;
    return { operation: runner.enter(id, insert, 'create', 'provisioning', {}), sandbox: id };
  }
}

/** In the project of what it comes from, which the caller may see. */
function ownerOf(caller: Caller, { owner }: StoredSnapshot, { scope }: Place): Owner {
  const { tenant, principal } = caller.owner;
  const own = { tenant, project: owner.project, principal };
  return scope === undefined ? own : { ...own, scope };
}

function attemptOf(action: Attempt['action'], snapshot: StoredSnapshot, inputs: SnapshotInputs) {
  const { spec, resolvedSpec, blueprint } = inputs;
  const { blueprintDigest } = snapshot;
  return { id: newId('attempt'), action, spec, resolvedSpec, blueprint, blueprintDigest, fromSnapshot: snapshot.id };
}

function allOrError(outcomes: readonly PromiseSettledResult<Outcome>[]): Outcome[] {
  const made = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [{ ...one.value, created: true }] : []));
  const failed = outcomes.find((one) => one.status === 'rejected');
  if (!failed) return made;
  const cause = failed.reason instanceof CaissonError ? failed.reason : new CaissonError('internal');
  const context = { ...cause.context, made: made.map(({ sandbox }) => sandbox.id) };
  throw new CaissonError(cause.code, cause.message, { cause: failed.reason, context });
}
