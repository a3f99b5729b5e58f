import {
  CaissonError,
  type CreateSandbox,
  type LeaseTerms,
  leaseEnds,
  type ResolvedProfile,
  type Sandbox,
} from '@caisson/contract';

/** Enough to save one's work and to ask for more time. */
const longestWarningSeconds = 300;

type Asked = Pick<CreateSandbox, 'ttlSeconds' | 'idleSeconds' | 'atExpiry'>;

/** The terms of a new lease: what was asked, or what its profile says, and never more than the profile allows. */
export function leaseTerms(profile: ResolvedProfile | undefined, asked: Asked): LeaseTerms {
  const policy = profile?.lease ?? {};
  const maxTtlSeconds = policy.maxTtlSeconds ?? null;
  const ttlSeconds = atMost(asked.ttlSeconds ?? policy.ttlSeconds ?? maxTtlSeconds, maxTtlSeconds);
  return {
    ttlSeconds,
    maxTtlSeconds,
    idleSeconds: atMost(asked.idleSeconds ?? policy.idleSeconds ?? null, policy.idleSeconds ?? null),
    warnSeconds: ttlSeconds === null ? null : (policy.warnSeconds ?? defaultWarning(ttlSeconds)),
    atExpiry: endOf(profile, asked.atExpiry),
  };
}

/** Five minutes, or a tenth of a short lease. */
export function defaultWarning(ttlSeconds: number): number {
  return Math.max(1, Math.min(longestWarningSeconds, Math.floor(ttlSeconds / 10)));
}

/** Where a lease of these terms ends that begins now. */
export function leaseEnd({ ttlSeconds }: LeaseTerms, now: number): number | null {
  return ttlSeconds === null ? null : now + ttlSeconds * 1000;
}

/** A sandbox that goes on after its lease had ended has a new one; a lease that has not ended goes on. */
export function renewedLease({ expiresAt, lease }: Pick<Sandbox, 'expiresAt' | 'lease'>, now = Date.now()) {
  if (expiresAt !== null || lease.ttlSeconds === null) return undefined;
  return { endsAt: now + lease.ttlSeconds * 1000 };
}

/** What keeps more than the profile says would outlive what its author allows. */
function endOf(profile: ResolvedProfile | undefined, asked: CreateSandbox['atExpiry']): LeaseTerms['atExpiry'] {
  const allowed = profile?.lease?.atExpiry;
  if (asked === undefined) return allowed ?? 'destroy';
  if (allowed !== undefined && leaseEnds.indexOf(asked) > leaseEnds.indexOf(allowed)) {
    const fitting = leaseEnds.slice(0, leaseEnds.indexOf(allowed) + 1);
    throw new CaissonError('request_invalid', `the profile ${profile?.name} says \`atExpiry: ${allowed}\``, {
      hint: `Choose one that keeps no more than that: ${fitting.map((one) => `\`${one}\``).join(', ')}.`,
    });
  }
  return asked;
}

function atMost(wanted: number | null, most: number | null): number | null {
  if (wanted === null) return most;
  return most === null ? wanted : Math.min(wanted, most);
}
