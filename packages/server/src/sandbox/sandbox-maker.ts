import {
  type Backend,
  type CaissonError,
  type CreateSandbox,
  hasCode,
  newId,
  type Owner,
  type Rejection,
  type ResolvedProfile,
  type RouteDecision,
  type SandboxPolicy,
} from '@caisson/contract';
import { requireChosen, routeNotices } from '../routing/no-route.ts';
import type { RouteRequest } from '../routing/router.ts';
import { without } from '../routing/without.ts';
import type { IdempotentRequest } from '../store/idempotency.ts';
import type { NewSandbox } from '../store/sandboxes.ts';
import { type Composed, newAttempt } from './compose.ts';
import { type Outcome, settle } from './outcome.ts';
import { driverNotices, limitTtl, policyNotices, policyOf } from './profile-policy.ts';
import { routeRequest } from './route-request.ts';
import type { CreateRequest, SandboxesContext } from './sandboxes.ts';

/** The index of packages is fetched the first time, from a mirror that may be slow. */
const planMs = 180_000;

/** What a request comes to: whose, by which profile, made of what. */
export interface Wanted {
  readonly owner: Owner;
  readonly profile: ResolvedProfile | undefined;
  readonly profileKey: string | null;
  readonly composed: Composed;
  readonly slot: string;
}

/** From what is wanted to a sandbox: where it goes, one that was made ahead, or a new one. */
export class SandboxMaker {
  readonly #context: SandboxesContext;

  constructor(context: SandboxesContext) {
    this.#context = context;
  }

  async make(
    wanted: Wanted,
    request: CreateRequest,
    slot: string | null,
    idempotency?: IdempotentRequest,
  ): Promise<Outcome> {
    const { router, pools, work } = this.#context;
    await work.secrets?.require(wanted.owner, wanted.composed.blueprint);
    const policy = policyOf(wanted.profile, request);
    const asked = routeRequest(wanted.composed.blueprint, wanted.profile, policy, wanted.owner.tenant, request.host);
    // What was made ahead has its place: whether there is room for more is not asked for it.
    const first = router.decide(asked);
    const { counts } = router.health;
    if (!first.chosen) counts.decided(first);
    const chosen = this.#choose(first, asked);
    const record = this.#recordOf(wanted, request, policy, slot, first, chosen);
    const attempt = newAttempt('create', wanted.composed);
    const claimed = await pools?.claim(record, { ...attempt, route: stored(first) }, idempotency);
    if (claimed) {
      counts.decided(first);
      return { sandbox: claimed, settled: true, created: true };
    }
    const choice = await this.#choice(wanted);
    const own = choice ? { ...attempt, made: choice.made } : attempt;
    const enter = choice?.isBuilding ? 'building' : 'provisioning';
    const room = await router.look();
    const isFree = room.memory === undefined && room.storage === undefined;
    let decision = isFree ? first : router.decide(asked, { room });
    for (;;) {
      counts.decided(decision);
      const backend = this.#choose(decision, asked);
      const placed = backend === chosen ? record : this.#recordOf(wanted, request, policy, slot, decision, backend);
      try {
        const operation = await this.#begin(placed, { ...own, route: stored(decision) }, enter, idempotency);
        return { ...(await settle(work.store, operation, placed.id, request.waitSeconds)), created: true };
      } catch (error) {
        const others = isHostFull(error) ? withoutHost(decision, backend.host, error.message) : undefined;
        if (!others?.chosen) throw error;
        decision = others;
      }
    }
  }

  /** What `make` would decide. Nothing is written, and nothing that was made ahead is taken. */
  async explain({ composed, profile, owner }: Wanted, request: CreateSandbox): Promise<RouteDecision> {
    const { router, work, limits, pools } = this.#context;
    await work.secrets?.require(owner, composed.blueprint);
    const asked = routeRequest(composed.blueprint, profile, policyOf(profile, request), owner.tenant, request.host);
    let decision = router.decide(asked, { room: await router.look() });
    const ahead = pools?.show().reduce((sum, pool) => sum + pool.ready, 0) ?? 0;
    for (const { name, liveSandboxes, maxSandboxes } of await work.store.hosts.list()) {
      const max = maxSandboxes ?? limits.sandboxesPerHost;
      // What was made ahead gives way.
      if (max === null || liveSandboxes - ahead < max) continue;
      decision = withoutHost(decision, name, `host ${name} may have ${max} sandboxes and has them`);
    }
    return decision;
  }

  #choose(decision: RouteDecision, { blueprint, host }: RouteRequest): Backend {
    const { name, mode } = blueprint.target.runtime;
    return requireChosen(decision, name !== 'auto' && mode === 'require' ? { driver: name, host } : { host });
  }

  /** What it is made of, where that is more than its base. What cannot be made is refused here. */
  async #choice({ composed: { blueprint, digest }, owner }: Wanted) {
    const { imageChoice } = this.#context.work;
    return imageChoice?.choose(blueprint, digest, owner, AbortSignal.timeout(planMs));
  }

  async #begin(
    record: NewSandbox,
    attempt: ReturnType<typeof newAttempt>,
    state: 'building' | 'provisioning',
    idempotency?: IdempotentRequest,
  ) {
    const { runner, limits, work, pools } = this.#context;
    const insert = async () => (await work.store.sandboxes.create(record, attempt, limits, idempotency)).sandbox;
    const enter = () => runner.enter(record.id, insert, 'create', state, {});
    return enter().catch(async (error) => {
      // What was made ahead must not keep out somebody who is here.
      if (isHostFull(error) && (await pools?.giveWay())) return enter();
      throw error;
    });
  }

  #recordOf(
    { owner, profile, composed }: Wanted,
    request: CreateRequest,
    policy: SandboxPolicy,
    slot: string | null,
    decision: RouteDecision,
    { driver: name, host }: Backend,
  ): NewSandbox {
    const driver = this.#context.work.driver(name);
    const { runtime } = composed.blueprint.target;
    const ttlSeconds = limitTtl(profile, request.ttlSeconds);
    return {
      id: newId('sandbox'),
      owner,
      name: request.name ?? null,
      slot,
      profile: profile ? { name: profile.name, version: profile.version } : null,
      labels: request.labels ?? {},
      driver: name,
      notices: [
        ...routeNotices(decision, runtime.name === 'auto' ? undefined : runtime.name),
        ...policyNotices(profile),
        ...driverNotices(policy, driver),
      ],
      host,
      blueprintDigest: composed.digest,
      persistence: composed.blueprint.runtime.persistence,
      expiresAt: ttlSeconds === undefined ? null : Date.now() + ttlSeconds * 1000,
      policy,
    };
  }
}

function stored(decision: RouteDecision) {
  return { ...decision, claimed: false, failedTries: [] };
}

function withoutHost(decision: RouteDecision, host: string, message: string): RouteDecision {
  const rejection: Rejection = { code: 'max_sandboxes_reached', path: null, message };
  return without(decision, (candidate) => candidate.host === host, rejection);
}

function isHostFull(error: unknown): error is CaissonError {
  return hasCode(error, 'max_sandboxes_reached') && error.context.of === 'host';
}
