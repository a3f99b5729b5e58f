import type { LeaseEnd } from '@caisson/contract';

/** What becomes of a sandbox on a backend with these abilities. */
export function possibleEnd(
  wanted: LeaseEnd,
  { canPause, canSnapshot }: { canPause(): boolean; canSnapshot(): boolean },
): LeaseEnd {
  if (wanted === 'snapshot-then-destroy' && !canSnapshot()) return canPause() ? 'pause' : 'stop';
  return wanted === 'pause' && !canPause() ? 'stop' : wanted;
}
