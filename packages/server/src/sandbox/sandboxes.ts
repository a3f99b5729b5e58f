import {
  type ActionName,
  type Attempt,
  type AttemptSummary,
  CaissonError,
  type CreateSandbox,
  canBegin,
  hasCode,
  type Id,
  isTransient,
  newId,
  type Owner,
  type RouteDecision,
  refusal,
  type Sandbox,
  type SandboxRoute,
  type SandboxState,
} from '@caisson/contract';
import { renewedLease } from '../leases/lease-terms.ts';
import type { ProfileCatalog } from '../profiles/catalog.ts';
import { canaryProfile } from '../profiles/shipped.ts';
import { fixedRoute } from '../routing/fixed-route.ts';
import type { Router } from '../routing/router.ts';
import type { IdempotentRequest } from '../store/idempotency.ts';
import type { Limits } from '../store/limits.ts';
import type { SandboxFilter } from '../store/sandboxes.ts';
import type { Store } from '../store/store.ts';
import { type Caller, canSee, isOperator, projectOf, requireChange } from '../tenancy/caller.ts';
import { requireBase } from './base-access.ts';
import { Composer } from './composer.ts';
import { isLost, loseIfGone } from './lose.ts';
import { type Outcome, settle } from './outcome.ts';
import type { WarmPools } from './pools/warm-pools.ts';
import type { Operation, Runner } from './runner.ts';
import { SandboxMaker, type Wanted } from './sandbox-maker.ts';
import { pausing } from './work.ts';
import type { WorkContext } from './work-context.ts';

export interface SandboxesContext {
  readonly work: WorkContext;
  readonly runner: Runner;
  readonly router: Router;
  readonly profiles: ProfileCatalog;
  readonly limits: Limits;
  readonly pools?: WarmPools;
}

export type CreateRequest = Omit<CreateSandbox, 'waitSeconds'> & { waitSeconds: number };
type OwnFilter = Omit<SandboxFilter, 'tenant' | 'project'> & { project?: string | undefined };

/** Two clients may go on outrunning each other; this many rounds are an accident, more are a defect. */
const maxRounds = 20;

/** A name whose sandbox is just being destroyed is taken and cannot be found, for a moment. */
const maxConflicts = 5;

/** How a request is told that another one changed the sandbox first. */
const outrun = [
  'sandbox_exists',
  'state_changed',
  'action_cancelled',
  'sandbox_destroyed',
  'sandbox_destroying',
] as const;

/** What can be asked about sandboxes. Every method takes the caller and checks the owner. */
export class Sandboxes {
  readonly #context: SandboxesContext;
  readonly #store: Store;
  readonly #composer = new Composer();
  readonly #maker: SandboxMaker;

  constructor(context: SandboxesContext) {
    this.#context = context;
    this.#store = context.work.store;
    this.#maker = new SandboxMaker(context);
  }

  async create(caller: Caller, request: CreateRequest, idempotency?: IdempotentRequest): Promise<Outcome> {
    const wanted = this.#resolve(caller, request);
    const slot = wanted.profile?.onePerOwner ? wanted.slot : null;
    return this.#maker.make(wanted, request, slot, idempotency);
  }

  /** The healthy sandbox of this owner, profile and name: the present one, mended where it must be, or a new one. */
  async ensure(caller: Caller, request: CreateRequest, idempotency?: IdempotentRequest): Promise<Outcome> {
    const wanted = this.#resolve(caller, request);
    const store = this.#store;
    const deadline = Date.now() + request.waitSeconds * 1000;
    let conflicts = 0;
    for (let round = 0; round < maxRounds; round += 1) {
      const waitSeconds = Math.max(0, (deadline - Date.now()) / 1000);
      const present = await store.sandboxes.find(wanted.owner, wanted.profileKey, request.name ?? null);
      try {
        if (!present) return await this.#maker.make(wanted, { ...request, waitSeconds }, wanted.slot, idempotency);
        const mended = await this.#mend(present, waitSeconds);
        if (mended) return mended;
        conflicts = 0;
      } catch (error) {
        // Another request was quicker: look again at what it made.
        if (!hasCode(error, ...outrun)) throw error;
        // The name is taken by a sandbox that is not the one meant, and will go on being so.
        conflicts = hasCode(error, 'sandbox_exists') ? conflicts + 1 : 0;
        if (conflicts > maxConflicts) throw error;
      }
    }
    throw new CaissonError('state_changed', 'the sandbox kept changing while it was being ensured');
  }

  /** Where a create would go, and why. */
  async explain(caller: Caller, request: CreateRequest): Promise<RouteDecision> {
    return this.#maker.explain(this.#resolve(caller, request), request);
  }

  async get(caller: Caller, id: string): Promise<Sandbox> {
    const sandbox = await this.#store.sandboxes.get(id);
    // Another tenant's id is answered like one that does not exist.
    if (!sandbox || !canSee(caller, sandbox.owner))
      throw new CaissonError('sandbox_not_found', `there is no sandbox ${id}`);
    return sandbox;
  }

  /** The same for somebody who wants to change it. */
  async own(caller: Caller, id: string): Promise<Sandbox> {
    const sandbox = await this.get(caller, id);
    requireChange(caller, sandbox);
    return sandbox;
  }

  async list(caller: Caller, filter: OwnFilter): Promise<Sandbox[]> {
    const project = projectOf(caller, filter.project);
    return this.#store.sandboxes.list({ ...filter, tenant: caller.owner.tenant, project });
  }

  async attempts(caller: Caller, id: string, limit: number, after?: string): Promise<AttemptSummary[]> {
    const sandbox = await this.get(caller, id);
    return this.#store.attempts.list(sandbox.id, limit, after);
  }

  async attempt(caller: Caller, id: string, attempt: string): Promise<Attempt> {
    const sandbox = await this.get(caller, id);
    const found = await this.#store.attempts.get(attempt);
    if (found?.sandbox !== sandbox.id) throw new CaissonError('attempt_not_found', `${id} has no attempt ${attempt}`);
    return found;
  }

  /** One by its id alone, also of a sandbox that is gone. */
  async anyAttempt(caller: Caller, id: string): Promise<Attempt> {
    const attempt = await this.#store.attempts.get(id);
    const sandbox = attempt && (await this.#store.sandboxes.get(attempt.sandbox));
    if (!attempt || !sandbox || !canSee(caller, sandbox.owner))
      throw new CaissonError('attempt_not_found', `there is no attempt ${id}`);
    return attempt;
  }

  /** The route that it took. One that began from files of another was not routed: it went where those are. */
  async route(caller: Caller, id: string): Promise<SandboxRoute> {
    const sandbox = await this.get(caller, id);
    const { driver, host, attempt } = sandbox;
    const decided = await this.#store.routes.ofSandbox(sandbox.id);
    if (decided) return { ...decided.route, attempt: decided.attempt, driver, host };
    if (attempt === null) throw new CaissonError('attempt_not_found', `${id} has no attempt`);
    return { ...fixedRoute(sandbox), attempt, driver, host, claimed: false, failedTries: [] };
  }

  async recreate(caller: Caller, id: string, waitSeconds: number, idempotency?: IdempotentRequest): Promise<Outcome> {
    const sandbox = await this.changeable(caller, id, 'recreate');
    return settle(this.#store, await this.#recreate(sandbox, idempotency), sandbox.id, waitSeconds);
  }

  async stop(caller: Caller, id: string, waitSeconds: number, idempotency?: IdempotentRequest): Promise<Outcome> {
    const sandbox = await this.changeable(caller, id, 'stop');
    const driver = this.#context.work.driver(sandbox.driver);
    if (sandbox.persistence === 'persistent' && driver.capabilities.storage === 'backend' && !driver.halt) {
      throw new CaissonError(
        'stop_not_available',
        `the driver ${driver.name} cannot keep the filesystem of a stopped sandbox`,
      );
    }
    const reason = { code: 'requested', message: `stopped by ${caller.owner.principal}` } as const;
    const operation = await this.#context.runner.begin(sandbox, 'stop', 'stopping', { reason, idempotency });
    return settle(this.#store, operation, sandbox.id, waitSeconds);
  }

  async start(caller: Caller, id: string, waitSeconds: number, idempotency?: IdempotentRequest): Promise<Outcome> {
    const sandbox = await this.changeable(caller, id, 'start');
    return settle(this.#store, await this.#start(sandbox, idempotency), sandbox.id, waitSeconds);
  }

  /** Running tools may end first, for `drainSeconds`; whatever still runs then stands still. */
  async pause(
    caller: Caller,
    id: string,
    { waitSeconds, drainSeconds }: { readonly waitSeconds: number; readonly drainSeconds: number },
    idempotency?: IdempotentRequest,
  ): Promise<Outcome> {
    const sandbox = await this.changeable(caller, id, 'pause');
    // Refused before anything changes; the action itself would leave a record of a failure.
    pausing(this.#context.work.driver(sandbox.driver));
    const { runner, work } = this.#context;
    const drain = (signal: AbortSignal) => work.inFlight.drained(sandbox.id, drainSeconds * 1000, signal);
    const operation = await runner.begin(sandbox, 'pause', 'pausing', { idempotency, reason: null }, drain);
    return settle(this.#store, operation, sandbox.id, waitSeconds);
  }

  async resume(caller: Caller, id: string, waitSeconds: number, idempotency?: IdempotentRequest): Promise<Outcome> {
    const sandbox = await this.changeable(caller, id, 'resume');
    const change = { lease: renewedLease(sandbox), idempotency };
    const operation = await this.#context.runner.begin(sandbox, 'resume', 'resuming', change);
    return settle(this.#store, operation, sandbox.id, waitSeconds);
  }

  /** Destroying a destroyed sandbox answers its record. */
  async destroy(caller: Caller, id: string, waitSeconds: number): Promise<Outcome> {
    const sandbox = await this.own(caller, id);
    return this.end(sandbox, { code: 'requested', message: `destroyed by ${caller.owner.principal}` }, waitSeconds);
  }

  /** Destroys for whatever reason, in whatever state it is. */
  async end(
    seen: Sandbox,
    reason: { code: 'requested' | 'expired' | 'idle'; message: string },
    waitSeconds: number,
  ): Promise<Outcome> {
    let sandbox: Sandbox | undefined = seen;
    for (let round = 0; round < maxRounds && sandbox; round += 1) {
      if (sandbox.state === 'destroyed') return { sandbox, settled: true, created: false };
      if (sandbox.state === 'destroying') {
        const outcome = await this.settled(sandbox.id, waitSeconds);
        if (!outcome.settled || outcome.sandbox.state === 'destroyed') return outcome;
        sandbox = outcome.sandbox;
      }
      try {
        const operation = await this.#context.runner.begin(sandbox, 'destroy', 'destroying', { reason });
        return await settle(this.#store, operation, sandbox.id, waitSeconds);
      } catch (error) {
        if (!hasCode(error, 'state_changed', 'sandbox_destroying', 'sandbox_destroyed')) throw error;
        sandbox = await this.#store.sandboxes.get(seen.id);
      }
    }
    throw new CaissonError('state_changed', `${seen.id} kept changing while it was being destroyed`);
  }

  /** For a server whose sandboxes shall not outlive it. */
  async endAll(message: string): Promise<void> {
    const store = this.#store;
    for (let page = await store.sandboxes.living(200); page.length > 0; page = await store.sandboxes.living(200)) {
      const ended = await Promise.allSettled(
        page.map((sandbox) => this.end(sandbox, { code: 'requested', message }, 60)),
      );
      // What cannot be destroyed now is left to the next server.
      if (ended.every((one) => one.status === 'rejected')) return;
    }
  }

  /** Waits for what runs on a sandbox, for a request that was sent twice. */
  async settled(id: Id<'sandbox'>, waitSeconds: number): Promise<Outcome> {
    const operation = await this.#context.runner.resume(id);
    if (operation) return settle(this.#store, operation, id, waitSeconds);
    const sandbox = await this.#store.sandboxes.get(id);
    if (!sandbox) throw new CaissonError('sandbox_not_found', `there is no sandbox ${id}`);
    return { sandbox, settled: !isTransient(sandbox.state) && sandbox.state !== 'requested', created: false };
  }

  /** The present sandbox made usable, or undefined when it is worth looking again. */
  async #mend(present: Sandbox, waitSeconds: number): Promise<Outcome | undefined> {
    if (present.state === 'requested' || isTransient(present.state)) {
      const outcome = await this.settled(present.id, waitSeconds);
      return outcome.settled && outcome.sandbox.state !== 'ready' ? undefined : outcome;
    }
    // Whatever a rollback failed for, it left files: those from before, or those it was to bring back.
    const keepsFiles = present.persistence === 'persistent' && (isLost(present) || present.rollbackTo !== null);
    if (present.state === 'failed' && !keepsFiles)
      return settle(this.#store, await this.#recreate(present), present.id, waitSeconds);
    if (present.state === 'stopped' || present.state === 'failed')
      return settle(this.#store, await this.#start(present), present.id, waitSeconds);
    const { work, runner } = this.#context;
    const never = new AbortController().signal;
    if (present.state === 'ready' && (await loseIfGone(work, runner, present, never))) return undefined;
    return { sandbox: present, settled: true, created: false };
  }

  async #recreate(sandbox: Sandbox, idempotency?: IdempotentRequest): Promise<Operation> {
    const { attempt, isBuilding } = await this.#again(sandbox, 'recreate');
    const lease = renewedLease(sandbox);
    const change = {
      attempt,
      raiseIncarnation: true,
      reason: null,
      notices: [],
      endInstance: true,
      lease,
      idempotency,
    };
    return this.#context.runner.begin(sandbox, 'recreate', isBuilding ? 'building' : 'provisioning', change);
  }

  async #start(sandbox: Sandbox, idempotency?: IdempotentRequest): Promise<Operation> {
    const { attempt } = await this.#again(sandbox, 'start');
    const change = { attempt, reason: null, lease: renewedLease(sandbox), idempotency };
    return this.#context.runner.begin(sandbox, 'start', 'starting', change);
  }

  /** A new attempt with the inputs of the last one: the same image and the same commits, whatever names mean by now. */
  async #again(sandbox: Sandbox, action: Attempt['action']) {
    const last = sandbox.attempt === null ? undefined : await this.#store.attempts.get(sandbox.attempt);
    if (!last) throw new CaissonError('attempt_not_found', `${sandbox.id} has no attempt to repeat`);
    const { spec, resolvedSpec, blueprint, blueprintDigest, fromSnapshot } = last;
    const recorded = await this.#store.attempts.made(sandbox.id, last.id);
    const { made, isBuilding } = (await this.#context.work.imageChoice?.again(recorded)) ?? {
      made: recorded,
      isBuilding: false,
    };
    const attempt = {
      id: newId('attempt'),
      action,
      spec,
      resolvedSpec,
      blueprint,
      blueprintDigest,
      fromSnapshot,
      made,
    };
    return { attempt, isBuilding };
  }

  /** A sandbox that the caller may change, in a state in which the action may begin. */
  async changeable(caller: Caller, id: string, action: ActionName): Promise<Sandbox> {
    const sandbox = await this.own(caller, id);
    if (!canBegin(action, sandbox.state)) throw refused(sandbox, action);
    return sandbox;
  }

  #resolve(caller: Caller, request: CreateRequest): Wanted {
    const given = request.profile ?? (request.spec === undefined ? canaryProfile.name : undefined);
    const profile = given === undefined ? undefined : this.#context.profiles.get(given);
    const composed = this.#composer.compose(profile, request.inputs ?? {}, request.spec ?? {});
    requireBase(composed.blueprint.target.os, profile, isOperator(caller));
    const project = projectOf(caller, request.project);
    const { tenant, principal } = caller.owner;
    const owner: Owner =
      request.scope === undefined
        ? { tenant, project, principal }
        : { tenant, project, principal, scope: request.scope };
    const profileKey = profile?.name ?? null;
    const slot = JSON.stringify([tenant, project, principal, request.scope ?? null, profileKey, request.name ?? null]);
    return { owner, profile, profileKey, composed, slot };
  }
}

function refused(sandbox: { id: string; state: SandboxState }, action: ActionName): CaissonError {
  return new CaissonError(refusal(sandbox.state), `${sandbox.id} is ${sandbox.state}: it cannot ${action} now`);
}
