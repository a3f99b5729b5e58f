import { CaissonError, type LeaseTerms } from '@caisson/contract';

export interface PresentLease {
  readonly terms: LeaseTerms;
  readonly expiresAt: number | null;
  /** When it began: at the creation of its sandbox, or when that was started again after an earlier lease had ended. */
  readonly begunAt: number;
}

/** No lease ends later: beyond it there are no more times that everybody can read, and no record that has one. */
const farthest = Date.UTC(9999, 0, 1);

/** Where a lease ends that is extended by so long: later than before, and never beyond its maximum. */
export function extendedEnd(lease: PresentLease, seconds: number): number {
  const { terms, begunAt } = lease;
  if (lease.expiresAt === null) throw new CaissonError(terms.ttlSeconds === null ? 'lease_endless' : 'lease_ended');
  const end = lease.expiresAt + seconds * 1000;
  const latest = Math.min(latestEnd(terms, begunAt) ?? farthest, farthest);
  if (end <= latest) return end;
  const maxExpiresAt = new Date(latest).toISOString();
  const most = Math.max(0, Math.floor((latest - lease.expiresAt) / 1000));
  throw new CaissonError(
    'lease_max_reached',
    `its lease ends at ${maxExpiresAt} at the latest; ${most} s more are possible`,
    { context: { maxTtlSeconds: terms.maxTtlSeconds, maxExpiresAt, possibleSeconds: most } },
  );
}

export function latestEnd({ maxTtlSeconds }: LeaseTerms, begunAt: number): number | null {
  return maxTtlSeconds === null ? null : begunAt + maxTtlSeconds * 1000;
}
