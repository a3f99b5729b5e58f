import type { LeaseEnd, LeaseTerms, SandboxState } from '@caisson/contract';
import { sql } from 'kysely';
import type { SandboxTable } from './schema.ts';

export type LeaseRow = Pick<
  SandboxTable,
  | 'ttl_seconds'
  | 'max_ttl_seconds'
  | 'idle_seconds'
  | 'warn_seconds'
  | 'at_expiry'
  | 'leased_at'
  | 'warn_at'
  | 'idle_at'
>;

/** A sandbox whose creator and profile say nothing: it lives until somebody destroys it. */
export const noLease: LeaseTerms = {
  ttlSeconds: null,
  maxTtlSeconds: null,
  idleSeconds: null,
  warnSeconds: null,
  atExpiry: 'destroy',
};

/** What changes in a lease together with a step of its sandbox. */
export interface LeaseChange {
  /** A new lease begins now, which ends then: its maximum counts from here. */
  readonly endsAt: number;
}

/** The lease as somebody saw it who acts because it has ended. */
export type SeenLease = { readonly expiresAt: number } | { readonly idleAt: number };

/** When its warning comes; null when it has no end. */
export function warnAt(expiresAt: number | null, { warnSeconds }: Pick<LeaseTerms, 'warnSeconds'>): number | null {
  return expiresAt === null || warnSeconds === null ? null : expiresAt - warnSeconds * 1000;
}

/** The columns of a new sandbox, or of one that has a new owner. */
export function newLeaseColumns(terms: LeaseTerms, expiresAt: number | null, readyAt: number | null): LeaseRow {
  const { idleSeconds } = terms;
  return {
    ttl_seconds: terms.ttlSeconds,
    max_ttl_seconds: terms.maxTtlSeconds,
    idle_seconds: idleSeconds,
    warn_seconds: terms.warnSeconds,
    at_expiry: terms.atExpiry,
    leased_at: null,
    warn_at: warnAt(expiresAt, terms),
    idle_at: readyAt === null || idleSeconds === null ? null : readyAt + idleSeconds * 1000,
  };
}

export function toLease(row: Omit<LeaseRow, 'leased_at' | 'warn_at' | 'idle_at'>): LeaseTerms {
  return {
    ttlSeconds: row.ttl_seconds,
    maxTtlSeconds: row.max_ttl_seconds,
    idleSeconds: row.idle_seconds,
    warnSeconds: row.warn_seconds,
    atExpiry: (row.at_expiry ?? 'destroy') as LeaseEnd,
  };
}

/** The columns that a step sets. One that arrives in `ready` begins a new idle time. */
export function steppedLeaseColumns(state: SandboxState, change: LeaseChange | undefined, now: number) {
  return {
    ...(state === 'ready' ? { idle_at: sql<number | null>`cast(${now} as bigint) + idle_seconds * 1000` } : {}),
    ...(change === undefined
      ? {}
      : {
          expires_at: change.endsAt,
          warn_at: sql<number | null>`cast(${change.endsAt} as bigint) - warn_seconds * 1000`,
          leased_at: now,
        }),
  };
}

/** Whether the lease is still what somebody saw. */
export function leaseStill(seen: SeenLease | undefined) {
  if (seen === undefined) return sql<boolean>`1 = 1`;
  if ('idleAt' in seen) return sql<boolean>`idle_at = ${seen.idleAt}`;
  return sql<boolean>`expires_at = ${seen.expiresAt}`;
}
