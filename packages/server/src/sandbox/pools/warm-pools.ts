import { type CaissonEvent, type Id, type Pool, profileRef, type Sandbox, systemOwner } from '@caisson/contract';
import { within } from '../../drivers/within.ts';
import type { ProfileCatalog } from '../../profiles/catalog.ts';
import type { Router } from '../../routing/router.ts';
import type { NewAttempt } from '../../store/attempts.ts';
import type { IdempotentRequest } from '../../store/idempotency.ts';
import type { PoolBounds } from '../../store/pools.ts';
import type { NewSandbox } from '../../store/sandboxes.ts';
import { PoolKeeper, type PoolKeeperContext } from './pool-keeper.ts';
import { PoolMembers } from './pool-members.ts';
import { type PoolMember, WarmPool } from './warm-pool.ts';

/** A guest that takes longer for its answer is no help to somebody in a hurry, and others wait to write meanwhile. */
const answerMs = 100;

export interface WarmPoolsContext extends PoolKeeperContext {
  readonly router: Router;
  readonly profiles: ProfileCatalog;
}

/**
 * Sandboxes made ahead, for whoever asks for the same. A member is an ordinary sandbox that the system holds and nobody
 * has used; `claim` gives it its owner in the store.
 *
 * Laws
 * 1. A member is handed out once: the store compares and sets. What this process knows only saves it from asking in vain.
 * 2. Nobody waits for a pool. One that has no living member is a miss, and the sandbox is made as ever.
 * 3. Members are made and ended a few at a time, and not while somebody waits for a sandbox.
 * 4. Whatever a killed server left is found in the store: a member goes on in its pool, and what has left it is ended.
 */
export class WarmPools {
  readonly #context: WarmPoolsContext;
  readonly #members = new PoolMembers();
  readonly #keeper: PoolKeeper;
  #unsubscribe = () => {};

  constructor(context: WarmPoolsContext) {
    this.#context = context;
    this.#keeper = new PoolKeeper(context, this.#members);
  }

  /** Finds what an earlier server left, and begins to fill. */
  async open(): Promise<void> {
    const { work, profiles, router } = this.#context;
    const set = await work.store.pools.bounds();
    for (const { name } of profiles.list()) {
      const profile = profiles.get(name);
      const bounds = set.get(name) ?? profile.pool;
      if (bounds) this.#members.pools.set(name, new WarmPool(profile, bounds, set.has(name), router));
    }
    this.#unsubscribe = work.store.onEvent((event) => this.#noticed(event));
    for (const member of await work.store.pools.members()) this.#members.adopt(member);
    this.#keeper.open();
  }

  /** Nothing is made or ended any more; claims go on for as long as requests do. */
  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#keeper.stop();
  }

  /** A member that is what was asked for, as the caller's own; or undefined. Fails as `create` would. */
  async claim(record: NewSandbox, attempt: NewAttempt, idempotency?: IdempotentRequest): Promise<Sandbox | undefined> {
    const pools = this.#poolsFor(record);
    const [first] = pools;
    if (!first) return undefined;
    first.asked(Date.now());
    try {
      for (const pool of pools) {
        const claimed = await this.#claimFrom(pool, record, attempt, idempotency);
        if (claimed) return claimed;
      }
      first.missed();
      return undefined;
    } finally {
      this.#keeper.asked(Date.now());
    }
  }

  /** The host is full, and somebody wants a place: one of ours is ended for it. Answers whether there was one. */
  async giveWay(): Promise<boolean> {
    const [spare] = [...this.#members.pools.values()].flatMap(({ ready }) => ready);
    if (!spare) return false;
    this.#members.dismiss(spare.id);
    return this.#keeper.end(spare.id);
  }

  show(): Pool[] {
    const now = Date.now();
    return [...this.#members.pools.values()].map((pool) => pool.show(now));
  }

  /** Bounds for a profile's pool that stand over its own. */
  async set(name: string, bounds: PoolBounds): Promise<Pool> {
    const { work, profiles, router } = this.#context;
    const profile = profiles.get(name);
    await work.store.pools.setBounds(name, bounds);
    const pool = this.#members.pools.get(name) ?? new WarmPool(profile, bounds, true, router);
    pool.bounds = bounds;
    pool.isSet = true;
    this.#members.pools.set(name, pool);
    this.#keeper.wake();
    return pool.show(Date.now());
  }

  /** A profile has a new version: its pool is of that from here on, and members of the old one are ended. */
  async renew(name: string): Promise<void> {
    const { work, profiles, router } = this.#context;
    const profile = profiles.get(name);
    const old = this.#members.pools.get(name);
    if (old && profileRef(old.profile) === profileRef(profile)) return;
    const set = (await work.store.pools.bounds()).get(name);
    const bounds = set ?? profile.pool;
    for (const { id } of [...(old?.ready ?? [])]) this.#members.dismiss(id);
    if (bounds) this.#members.pools.set(name, new WarmPool(profile, bounds, set !== undefined, router));
    else this.#members.pools.delete(name);
    this.#keeper.wake();
  }

  /**
   * Its own profile's first: what is asked for by other words is a neighbour's. Whoever wants a sandbox that has looked at
   * itself gets one that did when it was made.
   */
  #poolsFor({ driver, blueprintDigest, profile }: NewSandbox): WarmPool[] {
    const isChecked = (profile && this.#context.profiles.find(profile.name, profile.version)?.selfCheck) === true;
    const fitting = this.#members
      .withContent(driver, blueprintDigest)
      .filter((pool) => !isChecked || pool.profile.selfCheck === true);
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
      const isAlive = this.#isAlive(pool, member);
      let taken: Sandbox | undefined;
      try {
        taken = await work.store.pools.claim(member, record, attempt, limits, { idempotency, isAlive });
        if (!taken && !(await isAlive)) {
          if (this.#members.isIn(member.id)) pool.ready.push(member);
          continue;
        }
      } catch (error) {
        // The caller's name is taken, say: the member is as good as before.
        if (this.#members.isIn(member.id)) pool.ready.unshift(member);
        throw error;
      }
      this.#members.forget(member.id);
      if (taken) {
        pool.took();
        return taken;
      }
      // Something befell it: its record says what is to be done with it.
      await this.#look(member.id);
    }
    return undefined;
  }

  /** Whether it can be used this moment: its guest says so itself, which takes a fraction of a millisecond. */
  async #isAlive({ plan }: WarmPool, { id }: PoolMember): Promise<boolean> {
    if (!plan) return false;
    const key = { sandbox: id, incarnation: 1 };
    const signal = AbortSignal.timeout(this.#context.work.deadlines.inspectMs);
    try {
      if (plan.driver.guest) return await answers((await plan.driver.guest(key, signal)).connection);
      return (await plan.driver.inspect(key, signal)).status === 'running';
    } catch {
      return false;
    }
  }

  /** What happened to a sandbox of the system, whoever did it: a request, the keeper, the reconciler. */
  #noticed({ type, subject, tenant }: CaissonEvent): void {
    if (tenant !== systemOwner.tenant) return;
    const id = subject as Id<'sandbox'>;
    if (type === 'caisson.sandbox.destroyed') this.#members.forget(id);
    else if (type === 'caisson.sandbox.ready' || type === 'caisson.sandbox.failed') void this.#look(id);
  }

  async #look(id: Id<'sandbox'>): Promise<void> {
    // What cannot be read now is found at the next start.
    const member = await this.#context.work.store.pools.member(id).catch(() => undefined);
    if (!member) return;
    this.#members.adopt(member);
    this.#keeper.wake();
  }
}

async function answers(connection: { ping(): Promise<number> } | undefined): Promise<boolean> {
  return connection !== undefined && (await within(connection.ping(), answerMs)) !== undefined;
}
