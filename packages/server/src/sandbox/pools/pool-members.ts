import type { Id } from '@caisson/contract';
import type { Member } from '../../store/pools.ts';
import { contentOf, type WarmPool } from './warm-pool.ts';

type SandboxId = Id<'sandbox'>;

/**
 * Every sandbox that is the system's, as far as this process knows: in its pool, or on its way out. The store has the
 * truth; what is wrong here costs a try that the store refuses.
 */
export class PoolMembers {
  /** By the name of the profile. */
  readonly pools = new Map<string, WarmPool>();
  readonly #pools = new Map<SandboxId, WarmPool>();
  /** In no pool any more, and not ended yet. */
  readonly leaving = new Set<SandboxId>();
  /** Those of them that are being ended at this moment. */
  readonly ending = new Set<SandboxId>();

  has(id: SandboxId): boolean {
    return this.#pools.has(id) || this.ending.has(id);
  }

  isIn(id: SandboxId): boolean {
    return this.#pools.has(id);
  }

  /** Whatever words a request used: the pools whose members are made of the same. */
  withContent(driver: string, blueprintDigest: string): WarmPool[] {
    const wanted = contentOf(driver, blueprintDigest);
    return [...this.pools.values()].filter(({ plan, bounds }) => plan?.content === wanted && bounds.max > 0);
  }

  begin(id: SandboxId, pool: WarmPool): void {
    this.#pools.set(id, pool);
    pool.making.add(id);
  }

  /** Takes a record of the system for what it is: a member of its pool, or something to be ended. */
  adopt({ sandbox, pool: key, image }: Member): void {
    const { id, state, action, attempt, notices } = sandbox;
    if (this.ending.has(id) || state === 'destroyed') return;
    const pool = [...this.pools.values()].find(({ plan }) => plan !== undefined && plan.key === key);
    const isMaking = state === 'requested' || (action !== null && action !== 'destroy');
    if (pool?.plan && isMaking) this.begin(id, pool);
    else if (!pool?.plan || state !== 'ready' || action !== null || attempt === null) this.dismiss(id);
    else if (!pool.ready.some((member) => member.id === id)) {
      this.#pools.set(id, pool);
      pool.making.delete(id);
      const { key } = pool.plan;
      pool.ready.push({ id, pool: key, attempt, notices, madeAt: Date.parse(sandbox.createdAt), image });
      // Whoever was made last knows best what the name of the image means.
      if (pool.image !== undefined) pool.image = image;
    }
  }

  /** It shall be ended. */
  dismiss(id: SandboxId): void {
    this.forget(id);
    this.leaving.add(id);
  }

  /** It is no member any more: somebody's, or nothing. */
  forget(id: SandboxId): void {
    this.#pools.get(id)?.remove(id);
    this.#pools.delete(id);
    this.leaving.delete(id);
  }
}
