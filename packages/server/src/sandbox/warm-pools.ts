import { availableParallelism } from 'node:os';
import {
  type CaissonEvent,
  hasCode,
  type Id,
  newId,
  type Pool,
  profileRef,
  type Sandbox,
  systemOwner,
} from '@caisson/contract';
import type { Driver } from '../drivers/driver.ts';
import type { ProfileCatalog } from '../profiles/catalog.ts';
import type { NewAttempt } from '../store/attempts.ts';
import type { IdempotentRequest } from '../store/idempotency.ts';
import type { Limits } from '../store/limits.ts';
import type { PoolBounds, Member as StoredMember } from '../store/pools.ts';
import type { NewSandbox } from '../store/sandboxes.ts';
import { newAttempt } from './compose.ts';
import { policyOf } from './profile-policy.ts';
import type { Runner } from './runner.ts';
import { contentOf, type PoolMember, WarmPool } from './warm-pool.ts';
import type { WorkContext } from './work-context.ts';

export interface WarmPoolsContext {
  readonly work: WorkContext;
  readonly runner: Runner;
  readonly drivers: readonly Driver[];
  readonly profiles: ProfileCatalog;
  readonly limits: Limits;
  readonly host: string;
}

/** Half of the machine at most: the other half is for those who wait. */
const atOnce = Math.min(4, Math.max(1, Math.floor(availableParallelism() / 2)));
/** After a member was handed out its first command comes; the next one is not begun into that. */
const quietMs = 30;
/** Under a load that never ends a member is begun all the same, once in a while: pools would stay empty for ever. */
const patienceMs = 2_000;
/** How often it is looked whether pools shall shrink; nothing else tells. */
const lookMs = 5_000;
/** How old the answer may be to the question what a tag means; each costs a request to its registry. */
const imageLookMs = 300_000;

/**
 * Sandboxes made ahead, for whoever asks for the same. A member is an ordinary sandbox that the system holds and nobody
 * has used; `claim` gives it its owner in the store.
 *
 * Laws
 * 1. A member is handed out once: the store compares and sets. What this object knows only saves it from asking in vain.
 * 2. Nobody waits for a pool. One that has no living member is a miss, and the sandbox is made as ever.
 * 3. Members are made and ended a few at a time, and not while somebody waits for an action on a sandbox.
 * 4. Whatever a killed server left is found in the store: a member goes on in its pool, and what has left it is ended.
 */
export class WarmPools {
  readonly #context: WarmPoolsContext;
  readonly #pools = new Map<string, WarmPool>();
  /** Members that are being made or ready, by id. */
  readonly #members = new Map<Id<'sandbox'>, WarmPool>();
  /** The system's, and in no pool any more: to be ended. */
  readonly #leaving = new Set<Id<'sandbox'>>();
  readonly #ending = new Set<Id<'sandbox'>>();
  readonly #background = { has: (id: Id<'sandbox'>) => this.#members.has(id) || this.#ending.has(id) };
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Number.POSITIVE_INFINITY;
  #lastAsked = 0;
  #heldSince: number | undefined;
  #isStopped = false;
  #unsubscribe = () => {};

  constructor(context: WarmPoolsContext) {
    this.#context = context;
  }

  /** Finds what an earlier server left, and begins to fill. */
  async open(): Promise<void> {
    const { work, profiles, drivers, runner } = this.#context;
    const set = await work.store.pools.bounds();
    for (const { name } of profiles.list()) {
      const profile = profiles.get(name);
      const bounds = set.get(name) ?? profile.pool;
      if (bounds) this.#pools.set(name, new WarmPool(profile, bounds, set.has(name), drivers));
    }
    this.#unsubscribe = work.store.onEvent((event) => this.#noticed(event));
    for (const member of await work.store.pools.members()) this.#adopt(member);
    runner.onEnded = () => this.#wake(0);
    this.#wake(0);
  }

  /** Nothing is made or ended any more; claims go on for as long as requests do. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#unsubscribe();
    this.#context.runner.onEnded = undefined;
  }

  /** A member that is what was asked for, as the caller's own; or undefined. Fails as `create` would. */
  async claim(record: NewSandbox, attempt: NewAttempt, idempotency?: IdempotentRequest): Promise<Sandbox | undefined> {
    const pools = this.#poolsFor(record);
    const [first] = pools;
    if (!first) return undefined;
    const now = Date.now();
    this.#lastAsked = now;
    first.asked(now);
    try {
      for (const pool of pools) {
        const claimed = await this.#claimFrom(pool, record, attempt, idempotency);
        if (claimed) return claimed;
      }
      first.missed();
      return undefined;
    } finally {
      this.#wake(quietMs);
    }
  }

  /** The host is full, and somebody wants a place: one of ours is ended for it. Answers whether there was one. */
  async giveWay(): Promise<boolean> {
    const [spare] = [...this.#pools.values()].flatMap(({ ready }) => ready);
    if (!spare) return false;
    this.#dismiss(spare.id);
    await this.#end(spare.id);
    return true;
  }

  show(): Pool[] {
    const now = Date.now();
    return [...this.#pools.values()].map((pool) => pool.show(now));
  }

  /** Bounds for a profile's pool that stand over its own. */
  async set(name: string, bounds: PoolBounds): Promise<Pool> {
    const { work, profiles, drivers } = this.#context;
    const profile = profiles.get(name);
    await work.store.pools.setBounds(name, bounds);
    const pool = this.#pools.get(name) ?? new WarmPool(profile, bounds, true, drivers);
    pool.bounds = bounds;
    pool.isSet = true;
    this.#pools.set(name, pool);
    this.#wake(0);
    return pool.show(Date.now());
  }

  /** Its own profile's first: what is asked for by other words is a neighbour's. */
  #poolsFor({ driver, blueprintDigest, profile }: NewSandbox): WarmPool[] {
    const wanted = contentOf(driver, blueprintDigest);
    const fitting = [...this.#pools.values()].filter(({ plan }) => plan?.key.endsWith(` ${wanted}`));
    const isOwn = (pool: WarmPool) => profile !== null && profileRef(pool.profile) === profileRef(profile);
    return [...fitting.filter(isOwn), ...fitting.filter((pool) => !isOwn(pool))];
  }

  async #claimFrom(
    pool: WarmPool,
    record: NewSandbox,
    attempt: NewAttempt,
    idempotency?: IdempotentRequest,
  ): Promise<Sandbox | undefined> {
    const { work, limits } = this.#context;
    // Each is tried once: one that does not answer at the moment goes to the end.
    for (let tries = pool.ready.length; tries > 0; tries -= 1) {
      const member = pool.ready.shift();
      if (!member) return undefined;
      let taken: Sandbox | undefined;
      try {
        if (!(await this.#isAlive(pool, member))) {
          if (this.#members.has(member.id)) pool.ready.push(member);
          continue;
        }
        taken = await work.store.pools.claim(member.id, record, attempt, limits, idempotency);
      } catch (error) {
        // The caller's name is taken, say: the member is as good as before.
        if (this.#members.has(member.id)) pool.ready.unshift(member);
        throw error;
      }
      this.#members.delete(member.id);
      if (!taken) continue;
      pool.took();
      return taken;
    }
    return undefined;
  }

  /** Whether it can be used this moment. Its guest's connection ends with it, so there is nobody to ask. */
  async #isAlive({ plan }: WarmPool, { id }: PoolMember): Promise<boolean> {
    if (!plan) return false;
    const key = { sandbox: id, incarnation: 1 };
    const signal = AbortSignal.timeout(this.#context.work.deadlines.inspectMs);
    try {
      if (plan.driver.guest) return (await plan.driver.guest(key, signal)).connection !== undefined;
      return (await plan.driver.inspect(key, signal)).status === 'running';
    } catch {
      return false;
    }
  }

  /** What happened to a member, whoever did it: the record tells, and this object follows. */
  #noticed({ type, subject, tenant }: CaissonEvent): void {
    const id = subject as Id<'sandbox'>;
    const pool = this.#members.get(id);
    if (type === 'caisson.sandbox.claimed') return;
    if (tenant !== systemOwner.tenant) return;
    if (type === 'caisson.sandbox.destroyed') {
      pool?.remove(id);
      this.#members.delete(id);
      this.#leaving.delete(id);
    } else if (type === 'caisson.sandbox.ready' || type === 'caisson.sandbox.failed') {
      // Also of one that the reconciler went on with.
      void this.#look(id);
    }
  }

  async #look(id: Id<'sandbox'>): Promise<void> {
    // What cannot be read now is found at the next start.
    const member = await this.#context.work.store.pools.member(id).catch(() => undefined);
    if (!member || this.#isStopped) return;
    this.#adopt(member);
    this.#wake(0);
  }

  /** Takes a record of the system for what it is: a member of its pool, or something to be ended. */
  #adopt({ sandbox, pool: key, image }: StoredMember): void {
    const { id, state, action } = sandbox;
    if (this.#ending.has(id) || state === 'destroyed') return;
    const pool = [...this.#pools.values()].find(({ plan }) => plan !== undefined && plan.key === key);
    const isMaking = state === 'requested' || (action !== null && action !== 'destroy');
    const isReady = state === 'ready' && action === null;
    if (!pool || !(isMaking || isReady)) return this.#dismiss(id);
    if (pool.ready.some((member) => member.id === id)) return;
    this.#members.set(id, pool);
    if (isMaking) pool.making.add(id);
    else {
      pool.making.delete(id);
      pool.ready.push({ id, madeAt: Date.parse(sandbox.createdAt), image });
    }
  }

  /** It is in no pool from here on, as far as this object knows; the store is told when it is ended. */
  #dismiss(id: Id<'sandbox'>): void {
    this.#members.get(id)?.remove(id);
    this.#members.delete(id);
    this.#leaving.add(id);
  }

  /** Whoever wants it earliest is heard. */
  #wake(inMs: number): void {
    const due = Date.now() + inMs;
    if (this.#isStopped || due >= this.#dueAt) return;
    this.#dueAt = due;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#tend(), inMs).unref();
  }

  /** Begins the next thing that is to be done, or waits for its time. Every end of one wakes it again. */
  #tend(): void {
    this.#dueAt = Number.POSITIVE_INFINITY;
    if (this.#isStopped) return;
    const now = Date.now();
    for (const pool of this.#pools.values()) this.#followImage(pool, now);
    for (const pool of this.#pools.values()) for (const { id } of pool.surplus(now)) this.#dismiss(id);
    const making = [...this.#pools.values()].reduce((sum, { making: { size } }) => sum + size, 0);
    const lacking = [...this.#pools.values()]
      .filter((pool) => pool.lack(now) > 0)
      .sort((a, b) => b.lack(now) - a.lack(now))[0];
    const leaving = [...this.#leaving].find((id) => !this.#ending.has(id));
    const hasPlace = making + this.#ending.size < atOnce;
    if (!hasPlace || (!lacking && leaving === undefined)) return this.#wake(lookMs);
    const waitMs = this.#standBackMs(now);
    if (waitMs > 0) return this.#wake(waitMs);
    this.#heldSince = undefined;
    if (lacking) void this.#make(lacking);
    else if (leaving !== undefined) void this.#end(leaving);
    this.#wake(0);
  }

  /** How long to let others go first. The end of their actions wakes. */
  #standBackMs(now: number): number {
    const isBusy = this.#context.runner.countBesides(this.#background) > 0;
    const waitMs = isBusy ? patienceMs : this.#lastAsked + quietMs - now;
    if (waitMs <= 0) return 0;
    this.#heldSince ??= now;
    return Math.max(0, Math.min(waitMs, this.#heldSince + patienceMs - now));
  }

  /** A tag may mean another image by now; members of the old one are then replaced. */
  #followImage(pool: WarmPool, now: number): void {
    const blueprint = pool.plan?.composed.blueprint;
    const { filesystems, deadlines } = this.#context.work;
    if (!blueprint || !filesystems?.hasChangingImage(blueprint) || now < pool.imageDueAt || pool.ready.length === 0)
      return;
    pool.imageDueAt = now + imageLookMs;
    const signal = AbortSignal.timeout(deadlines.prepareMs);
    filesystems.imageDigest(blueprint, signal).then(
      (digest) => {
        pool.image = digest;
        this.#wake(0);
      },
      // A registry that does not answer says nothing about what it has.
      () => {},
    );
  }

  async #make(pool: WarmPool): Promise<void> {
    const { work, runner, limits, host } = this.#context;
    const { plan } = pool;
    if (!plan) return;
    const id = newId('sandbox');
    pool.making.add(id);
    this.#members.set(id, pool);
    try {
      const { composed, driver, notices, key } = plan;
      pool.image = await this.#imageOf(pool);
      const record: NewSandbox = {
        id,
        owner: systemOwner,
        name: null,
        slot: null,
        profile: { name: pool.profile.name, version: pool.profile.version },
        labels: {},
        driver: driver.name,
        notices,
        host,
        blueprintDigest: composed.digest,
        persistence: composed.blueprint.runtime.persistence,
        expiresAt: null,
        // Nothing happens to a member by itself.
        policy: policyOf(undefined, {}),
        pool: key,
        poolImage: pool.image,
      };
      const attempt = newAttempt('create', composed);
      // Its tenants have limits; the system has the bounds of its pools, and the host's.
      const insert = () => work.store.sandboxes.create(record, attempt, { ...limits, sandboxesPerTenant: null });
      const operation = await runner.enter(id, async () => (await insert()).sandbox, 'create', 'provisioning', {});
      await operation.done;
      pool.made();
    } catch (error) {
      if (!hasCode(error, 'shutting_down')) pool.failed(error, Date.now());
      // Where there is a record, its event or the next start tells what became of it.
      if (this.#members.get(id) === pool && pool.making.delete(id)) this.#members.delete(id);
    }
    this.#wake(0);
  }

  async #imageOf({ plan }: WarmPool): Promise<string | null> {
    const { filesystems, deadlines } = this.#context.work;
    if (!plan || !filesystems?.hasChangingImage(plan.composed.blueprint)) return null;
    return filesystems.imageDigest(plan.composed.blueprint, AbortSignal.timeout(deadlines.prepareMs));
  }

  async #end(id: Id<'sandbox'>): Promise<void> {
    const { work, runner } = this.#context;
    this.#ending.add(id);
    try {
      const sandbox = await work.store.pools.leave(id);
      if (sandbox && sandbox.state !== 'destroying') {
        const reason = { code: 'requested', message: 'its warm pool does not need it any more' } as const;
        await (await runner.begin(sandbox, 'destroy', 'destroying', { reason })).done;
      }
      this.#leaving.delete(id);
    } catch (error) {
      // A destroy that failed is tried again later, after everything else that waits.
      this.#leaving.delete(id);
      if (!hasCode(error, 'shutting_down')) setTimeout(() => this.#leaving.add(id), lookMs).unref();
    } finally {
      this.#ending.delete(id);
    }
    this.#wake(0);
  }
}
