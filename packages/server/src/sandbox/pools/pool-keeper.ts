import { availableParallelism } from 'node:os';
import { type ActionName, hasCode, type Id, newId, systemOwner } from '@caisson/contract';
import type { Limits } from '../../store/limits.ts';
import type { NewSandbox } from '../../store/sandboxes.ts';
import { newAttempt } from '../compose.ts';
import { policyOf } from '../profile-policy.ts';
import type { Operation, Runner } from '../runner.ts';
import { sizeOf } from '../size.ts';
import type { WorkContext } from '../work-context.ts';
import { imageNow } from './image-now.ts';
import type { PoolMembers } from './pool-members.ts';
import type { PoolPlan, WarmPool } from './warm-pool.ts';
import { warmUp } from './warm-up.ts';

/** Half of the machine at most: the other half is for those who wait. */
const atOnce = Math.min(4, Math.max(1, Math.floor(availableParallelism() / 2)));
/** After a member was handed out its first command comes; the next one is not begun into that. */
const quietMs = 30;
/** Under a load that never ends a member is begun all the same, once in a while: pools would stay empty for ever. */
const patienceMs = 1_000;
/** Whoever asked for one of these waits for a sandbox to work in; the end of one may take its time. */
const hurried = ['create', 'recreate', 'start', 'resume', 'rollback'] as const satisfies ActionName[];
/** How often it is looked whether pools shall shrink; nothing else tells. */
const lookMs = 5_000;
/** How old the answer may be to the question what a tag means; each costs a request to its registry. */
const imageLookMs = 300_000;

export interface PoolKeeperContext {
  readonly work: WorkContext;
  readonly runner: Runner;
  readonly limits: Limits;
  readonly host: string;
}

/**
 * Keeps the pools at their size: makes what they lack and ends what they have too much of, a few at a time, and not while
 * anybody waits for a sandbox.
 */
export class PoolKeeper {
  readonly #context: PoolKeeperContext;
  readonly #members: PoolMembers;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Number.POSITIVE_INFINITY;
  #lastAsked = 0;
  #heldSince: number | undefined;
  #isStopped = false;
  readonly #entering = new Set<Promise<Operation>>();

  constructor(context: PoolKeeperContext, members: PoolMembers) {
    this.#context = context;
    this.#members = members;
  }

  open(): void {
    this.#context.runner.onEnded = () => this.wake();
    this.wake();
  }

  /** Begins nothing any more. Resolves when everything that was begun has its record, by which others find it. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#context.runner.onEnded = undefined;
    await Promise.allSettled(this.#entering);
  }

  /** Somebody asked for a member: what is to be done for the pools waits a little. */
  asked(now: number): void {
    this.#lastAsked = now;
    this.wake(quietMs);
  }

  /** Looks at the pools by then. Whoever wants it earliest is heard. */
  wake(inMs = 0): void {
    const due = Date.now() + inMs;
    if (this.#isStopped || due >= this.#dueAt) return;
    this.#dueAt = due;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#tend(), inMs).unref();
  }

  /** Ends what has left its pool. Answers whether it is gone. */
  async end(id: Id<'sandbox'>): Promise<boolean> {
    const { work, runner } = this.#context;
    const { leaving, ending } = this.#members;
    ending.add(id);
    try {
      // From here on nobody can claim it, whatever this process believed.
      const sandbox = await work.store.pools.leave(id);
      if (sandbox && sandbox.state !== 'destroying') {
        const reason = { code: 'requested', message: 'its warm pool does not need it any more' } as const;
        await (await runner.begin(sandbox, 'destroy', 'destroying', { reason })).done;
      }
      leaving.delete(id);
      return sandbox !== undefined;
    } catch (error) {
      leaving.delete(id);
      // It is tried again later; the next server finds it too.
      if (!hasCode(error, 'shutting_down')) setTimeout(() => leaving.add(id), lookMs).unref();
      return false;
    } finally {
      ending.delete(id);
      this.wake();
    }
  }

  /** Begins the next thing that is to be done, or waits for its time. Every end of one wakes it again. */
  #tend(): void {
    this.#dueAt = Number.POSITIVE_INFINITY;
    if (this.#isStopped) return;
    const now = Date.now();
    const pools = [...this.#members.pools.values()];
    for (const pool of pools) {
      this.#followImage(pool, now);
      for (const { id } of pool.surplus(now)) this.#members.dismiss(id);
    }
    const [lacking] = pools.filter((pool) => pool.lack(now) > 0).sort((a, b) => b.lack(now) - a.lack(now));
    const leaving = [...this.#members.leaving].find((id) => !this.#members.ending.has(id));
    const making = pools.reduce((sum, pool) => sum + pool.making.size, 0);
    const isFull = making + this.#members.ending.size >= atOnce;
    const idleMs = Math.min(lookMs, ...pools.map((pool) => pool.pauseMs(now)));
    const nextMs = isFull || (!lacking && leaving === undefined) ? idleMs : this.#standBackMs(now);
    if (nextMs === 0) {
      this.#heldSince = undefined;
      if (lacking?.plan) void this.#make(lacking, lacking.plan);
      else if (leaving !== undefined) void this.end(leaving);
    }
    this.wake(nextMs);
  }

  /** How long to let others go first. The end of their actions wakes. */
  #standBackMs(now: number): number {
    const isBusy = this.#context.runner.runsBesides(this.#members, hurried);
    const waitMs = isBusy ? patienceMs : this.#lastAsked + quietMs - now;
    if (waitMs <= 0) return 0;
    this.#heldSince ??= now;
    return Math.max(0, Math.min(waitMs, this.#heldSince + patienceMs - now));
  }

  async #make(pool: WarmPool, plan: PoolPlan): Promise<void> {
    const { work, runner, limits } = this.#context;
    const id = newId('sandbox');
    this.#members.begin(id, pool);
    try {
      const record = this.#recordOf(id, pool, plan);
      const { composed } = plan;
      const signal = AbortSignal.timeout(work.deadlines.prepareMs);
      const choice = await work.imageChoice?.choose(composed.blueprint, composed.digest, systemOwner, signal);
      const attempt = { ...newAttempt('create', composed), ...(choice ? { made: choice.made } : {}) };
      const insert = async () => {
        if (plan.driver.capabilities.storage === 'ours') await work.filesystems?.room.require();
        return (await work.store.sandboxes.create(record, attempt, limits)).sandbox;
      };
      const state = choice?.isBuilding ? 'building' : 'provisioning';
      const entering = runner.enter(id, insert, 'create', state, {});
      this.#entering.add(entering);
      const { done } = await entering.finally(() => this.#entering.delete(entering));
      const member = await done;
      pool.made();
      await warmUp(plan.driver, member);
    } catch (error) {
      if (!hasCode(error, 'shutting_down')) pool.failed(error, Date.now());
      // Where there is a record, its event or the next start tells what became of it.
      if (pool.making.has(id)) this.#members.forget(id);
    }
    this.wake();
  }

  #recordOf(id: Id<'sandbox'>, pool: WarmPool, { composed, driver, key }: PoolPlan): NewSandbox {
    return {
      id,
      owner: systemOwner,
      name: null,
      slot: null,
      profile: { name: pool.profile.name, version: pool.profile.version },
      labels: {},
      driver: driver.name,
      notices: [],
      host: driver.host ?? this.#context.host,
      blueprintDigest: composed.digest,
      persistence: composed.blueprint.runtime.persistence,
      // Nothing happens to a member by itself: it has no lease, and is neither paused nor pruned.
      expiresAt: null,
      policy: policyOf(undefined, {}),
      pool: key,
      size: sizeOf(composed.blueprint),
    };
  }

  /** A tag may mean another image by now; members of the old one are then replaced. */
  #followImage(pool: WarmPool, now: number): void {
    const look = pool.plan && imageNow(this.#context.work, pool.plan);
    if (!look || pool.ready.length === 0 || now < pool.imageDueAt) return;
    pool.imageDueAt = now + imageLookMs;
    look(AbortSignal.timeout(this.#context.work.deadlines.prepareMs)).then(
      (image) => {
        if (image === undefined) return;
        pool.image = image;
        this.wake();
      },
      // A registry that does not answer says nothing about what it has.
      () => {},
    );
  }
}
