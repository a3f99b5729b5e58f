import type { Backend, RouteDecision } from '@caisson/contract';

/** The route of what had no choice: it went where its files are. */
export function fixedRoute({ driver, host }: { driver: string | null; host: string | null }): RouteDecision {
  const chosen: Backend | null = driver === null || host === null ? null : { driver, host };
  const known = { pricePerHourMicros: null, latencyMs: null, score: null, unmet: [], rejections: [] };
  return {
    strategy: 'explicit',
    chosen,
    maxPricePerHourMicros: null,
    pricesAsOf: '',
    candidates: chosen ? [{ ...chosen, rank: 1, selfHosted: true, ...known }] : [],
  };
}
