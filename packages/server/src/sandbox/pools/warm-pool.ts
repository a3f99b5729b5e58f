import { CaissonError, type Id, type Pool, profileRef, type ResolvedProfile, systemOwner } from '@caisson/contract';
import type { Driver } from '../../drivers/driver.ts';
import { secretsIn } from '../../network/secrets/inside-secrets.ts';
import { requireChosen } from '../../routing/no-route.ts';
import type { Router } from '../../routing/router.ts';
import type { ClaimableMember, PoolBounds } from '../../store/pools.ts';
import { type Composed, compose } from '../compose.ts';
import { policyOf } from '../profile-policy.ts';
import { routeRequest } from '../route-request.ts';
import { hasSources } from '../sources-port.ts';
import { PoolDemand, wantedSize } from './pool-demand.ts';

/** The first pause after a member could not be made, doubled each time up to the longest. */
const firstPauseMs = 1_000;
const longestPauseMs = 300_000;

/** A base may get security updates and a clock may drift: what stood longer than this is made anew. */
const longestAgeMs = 6 * 3_600_000;

/** What the members of a pool are made of. */
export interface PoolPlan {
  readonly composed: Composed;
  readonly driver: Driver;
  /** What a member can stand in for. */
  readonly content: string;
  /** The name of the pool in the store: its profile, and the content. */
  readonly key: string;
}

export interface PoolMember extends ClaimableMember {
  readonly madeAt: number;
  /** The digest of the image that its files began from. */
  readonly image: string | undefined;
}

/** The pool of one profile: who is in it and how many there shall be. It decides; `WarmPools` acts. */
export class WarmPool {
  readonly profile: ResolvedProfile;
  readonly plan: PoolPlan | undefined;
  /** Oldest first. */
  readonly ready: PoolMember[] = [];
  readonly making = new Set<Id<'sandbox'>>();
  readonly #demand = new PoolDemand();
  bounds: PoolBounds;
  isSet: boolean;
  /** What the name of its image means now, where that may change. */
  image: string | undefined;
  imageDueAt = 0;
  #taken = 0;
  #misses = 0;
  #problem: string | undefined;
  #pauseMs = 0;
  #pausedUntil = 0;

  constructor(profile: ResolvedProfile, bounds: PoolBounds, isSet: boolean, router: Router) {
    this.profile = profile;
    this.bounds = bounds;
    this.isSet = isSet;
    try {
      this.plan = planOf(profile, router);
    } catch (error) {
      // A profile that needs an input, say: it has no pool, and `show` tells why.
      if (!(error instanceof CaissonError)) throw error;
      this.#problem = error.message;
    }
  }

  wanted(now: number): number {
    return this.plan ? wantedSize(this.bounds, this.#demand.at(now)) : 0;
  }

  /** How many are to be made. */
  lack(now: number): number {
    return now < this.#pausedUntil ? 0 : this.wanted(now) - this.ready.length - this.making.size;
  }

  /** How long until it is tried again after a failure. */
  pauseMs(now: number): number {
    return this.#pausedUntil > now ? this.#pausedUntil - now : Number.POSITIVE_INFINITY;
  }

  /** Those that are to be ended: too old, of an image that is no longer meant, or too many. */
  surplus(now: number): PoolMember[] {
    const isStale = ({ madeAt, image }: PoolMember) =>
      now - madeAt > longestAgeMs || (this.image !== undefined && image !== this.image);
    const stale = this.ready.filter(isStale);
    const good = this.ready.filter((member) => !isStale(member));
    return [...stale, ...good.slice(0, Math.max(0, good.length - this.wanted(now)))];
  }

  asked(now: number): void {
    this.#demand.add(now);
  }

  took(): void {
    this.#taken += 1;
  }

  missed(): void {
    this.#misses += 1;
  }

  made(): void {
    this.#pauseMs = 0;
    this.#problem = undefined;
  }

  failed(error: unknown, now: number): void {
    this.#problem = error instanceof CaissonError ? error.message : 'a defect of Caisson; the log has the rest';
    this.#pauseMs = Math.min(longestPauseMs, Math.max(firstPauseMs, this.#pauseMs * 2));
    this.#pausedUntil = now + this.#pauseMs;
  }

  remove(id: Id<'sandbox'>): boolean {
    const at = this.ready.findIndex((member) => member.id === id);
    if (at >= 0) this.ready.splice(at, 1);
    return this.making.delete(id) || at >= 0;
  }

  show(now: number): Pool {
    return {
      profile: profileRef(this.profile),
      driver: this.plan?.driver.name ?? null,
      ...this.bounds,
      isSet: this.isSet,
      wanted: this.wanted(now),
      ready: this.ready.length,
      making: this.making.size,
      taken: this.#taken,
      misses: this.#misses,
      problem: this.#problem ?? null,
    };
  }
}

function planOf(profile: ResolvedProfile, router: Router): PoolPlan {
  const composed = compose(profile, {}, {});
  // A member is launched for nobody: it would have nothing inside of its later owner's secrets.
  if (secretsIn(composed.blueprint).length > 0)
    throw new CaissonError('request_invalid', 'a sandbox with secrets cannot be made before it has an owner');
  if (hasSources(composed.blueprint))
    throw new CaissonError(
      'request_invalid',
      'what comes from elsewhere is brought in when it is asked for, not ahead',
    );
  const asked = routeRequest(composed.blueprint, profile, policyOf(profile, {}), systemOwner.tenant);
  const chosen = requireChosen(router.decide(asked, { isLater: true }), {});
  const driver = router.driverOf(chosen);
  if (!driver) throw new CaissonError('driver_not_found', `the driver ${chosen.driver} is not installed here`);
  const content = contentOf(driver.name, composed.digest);
  return { composed, driver, content, key: `${profileRef(profile)} ${content}` };
}

/** Whatever words a request used: with the same driver and digest it gets the same sandbox. */
export function contentOf(driver: string, blueprintDigest: string): string {
  return `${driver} ${blueprintDigest}`;
}
