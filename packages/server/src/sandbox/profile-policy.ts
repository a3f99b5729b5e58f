import type { CreateSandbox, LeaseTerms, ResolvedProfile, SandboxPolicy } from '@caisson/contract';
import type { Driver } from '../drivers/driver.ts';
import { possibleEnd } from '../leases/possible-end.ts';

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

/** What of the policy and of the lease a driver cannot do. */
export function driverNotices({ autoPauseSeconds }: SandboxPolicy, { atExpiry }: LeaseTerms, driver: Driver): string[] {
  const end = possibleEnd(atExpiry, {
    canPause: () => driver.pause !== undefined,
    canSnapshot: () => driver.capabilities.snapshots !== 'none',
  });
  const words = end === 'pause' ? 'paused' : 'stopped';
  return [
    ...(autoPauseSeconds === null || driver.pause
      ? []
      : [`The driver ${driver.name} cannot pause: \`autoPauseSeconds\` does nothing.`]),
    ...(end === atExpiry ? [] : [`The driver ${driver.name} cannot \`${atExpiry}\`: it will be ${words} instead.`]),
  ];
}

/** What a profile asks for that this version does not do: said on each sandbox, so that nobody relies on it. */
export function policyNotices(profile: ResolvedProfile | undefined): string[] {
  if (!profile) return [];
  return profile.priceClass === undefined ? [] : ['`priceClass` of the profile is not honoured yet.'];
}
