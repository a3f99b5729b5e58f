import type { CreateSandbox, ResolvedProfile, SandboxPolicy } from '@caisson/contract';
import type { Driver } from '../drivers/driver.ts';

/** How long a sandbox lives: what was asked, or what its profile says, and never longer than the profile allows. */
export function limitTtl(profile: ResolvedProfile | undefined, asked: number | undefined): number | undefined {
  const { ttlSeconds, maxTtlSeconds } = profile?.lease ?? {};
  const wanted = asked ?? ttlSeconds ?? maxTtlSeconds;
  if (wanted === undefined) return undefined;
  return maxTtlSeconds === undefined ? wanted : Math.min(wanted, maxTtlSeconds);
}

/** A turn of an agent takes minutes: a hundred are a working day, and cost little where snapshots share what is equal. */
const defaultKeepTurns = 100;

/** What happens to a sandbox by itself: what was asked, or what its profile says. */
export function policyOf(
  profile: ResolvedProfile | undefined,
  asked: Pick<CreateSandbox, 'snapshots' | 'autoPauseSeconds' | 'autoResume'>,
): SandboxPolicy {
  const snapshots = { ...profile?.snapshots, ...asked.snapshots };
  return {
    keepTurns: snapshots.keepTurns ?? defaultKeepTurns,
    perTool: snapshots.perTool ?? false,
    autoPauseSeconds: asked.autoPauseSeconds ?? profile?.autoPauseSeconds ?? null,
    autoResume: asked.autoResume ?? profile?.autoResume ?? false,
  };
}

/** What of the policy a driver cannot do. */
export function driverNotices({ autoPauseSeconds }: SandboxPolicy, driver: Driver): string[] {
  if (autoPauseSeconds === null || driver.pause) return [];
  return [`The driver ${driver.name} cannot pause: \`autoPauseSeconds\` does nothing.`];
}

/** What a profile asks for that this version does not do: said on each sandbox, so that nobody relies on it. */
export function policyNotices(profile: ResolvedProfile | undefined): string[] {
  if (!profile) return [];
  const { lease } = profile;
  const missing: [boolean, string][] = [
    [lease?.idleSeconds !== undefined, 'lease.idleSeconds'],
    [lease?.warnSeconds !== undefined, 'lease.warnSeconds'],
    [profile.priceClass !== undefined, 'priceClass'],
  ];
  const notices = missing.flatMap(([asked, what]) =>
    asked ? [`\`${what}\` of the profile is not honoured yet.`] : [],
  );
  if (lease?.atExpiry === 'pause' || lease?.atExpiry === 'snapshot-then-destroy') {
    notices.push(`\`lease.atExpiry: ${lease.atExpiry}\` of the profile is not there yet; it will be stopped instead.`);
  }
  return notices;
}
