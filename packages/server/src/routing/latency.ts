/** A backend's load changes within minutes: what was ten minutes ago counts half of what is now. */
const halfLifeMs = 600_000;
/** As many launches as make a mean steady; more would keep it from following a change. */
const maxWeight = 20;
/** Below this a measurement is hearsay: an hour after a single launch, longer after many. */
const leastWeight = 1 / 64;

/** A mean of launch times in which the newer counts more. */
export interface LatencyMean {
  readonly ms: number;
  readonly weight: number;
  readonly at: number;
}

function weightAt({ weight, at }: LatencyMean, now: number): number {
  return weight * 0.5 ** (Math.max(0, now - at) / halfLifeMs);
}

export function withSample(mean: LatencyMean | undefined, ms: number, now: number): LatencyMean {
  if (!mean) return { ms, weight: 1, at: now };
  const weight = Math.min(maxWeight, weightAt(mean, now));
  return { ms: (mean.ms * weight + ms) / (weight + 1), weight: weight + 1, at: Math.max(now, mean.at) };
}

/** What it says now; null when it is too old to say anything. */
export function knownMs(mean: LatencyMean | undefined, now: number): number | null {
  return mean && weightAt(mean, now) >= leastWeight ? Math.round(mean.ms * 10) / 10 : null;
}
