import type { Rejection, RouteCandidate, RouteDecision, RouteStrategy } from '@caisson/contract';
import type { Candidate } from './candidate.ts';

/** What is asked of a route besides what the blueprint needs. */
export interface Wishes {
  readonly strategy: RouteStrategy;
  /** Only these, in this order; all that are installed when absent. */
  readonly drivers?: readonly string[] | undefined;
  /** These first. With the strategy `explicit`, only these. */
  readonly hosts?: readonly string[] | undefined;
  /** This one and no other. */
  readonly host?: string | undefined;
  readonly driver?: { readonly name: string; readonly mode: 'prefer' | 'require' } | undefined;
  readonly maxPricePerHourMicros?: number | undefined;
}

/**
 * Which backend serves, in which order the others would be tried, and why the rest cannot. Pure.
 *
 * Laws
 * - A candidate with one rejection has no rank, whatever else speaks for it.
 * - The order in which candidates are given does not matter: equals are ordered by their place in the installation.
 * - A rejected candidate changes nothing for the others.
 */
export function decide(candidates: readonly Candidate[], wishes: Wishes, pricesAsOf: string): RouteDecision {
  const judged = candidates.map((candidate) => ({ candidate, rejections: judge(candidate, wishes) }));
  const serving = judged.filter(({ rejections }) => rejections.length === 0).map(({ candidate }) => candidate);
  const rejected = judged.filter(({ rejections }) => rejections.length > 0);
  const keyed = serving.map((candidate) => ({ candidate, key: sortKey(candidate, wishes) }));
  keyed.sort((a, b) => compare(a.key, b.key));
  rejected.sort((a, b) => compare(placeOf(a.candidate, wishes), placeOf(b.candidate, wishes)));
  const best = keyed[0]?.candidate;
  return {
    strategy: wishes.strategy,
    chosen: best ? { driver: best.driver, host: best.host } : null,
    maxPricePerHourMicros: wishes.maxPricePerHourMicros ?? null,
    pricesAsOf,
    candidates: [
      ...keyed.map(({ candidate }, index) => shown(candidate, wishes, index + 1, [])),
      ...rejected.map(({ candidate, rejections }) => shown(candidate, wishes, null, rejections)),
    ],
  };
}

function judge(candidate: Candidate, wishes: Wishes): Rejection[] {
  const { driver, host, pricePerHourMicros } = candidate;
  const { drivers, hosts, maxPricePerHourMicros: ceiling } = wishes;
  const rejections: Rejection[] = [];
  const refuse = (code: Rejection['code'], path: string | null, message: string) =>
    rejections.push({ code, path, message });
  if (wishes.driver?.mode === 'require' && wishes.driver.name !== driver)
    refuse('not_asked_for', 'target.runtime', `the driver must be ${wishes.driver.name}`);
  if (wishes.host !== undefined && wishes.host !== host)
    refuse('not_asked_for', 'host', `the host must be ${wishes.host}`);
  if (drivers && !drivers.includes(driver))
    refuse('not_asked_for', 'route.drivers', `the profile takes only ${drivers.join(', ') || 'none'}`);
  if (wishes.strategy === 'explicit' && hosts && !hosts.includes(host))
    refuse('not_asked_for', 'route.hosts', `the profile takes only ${hosts.join(', ') || 'none'}`);
  if (ceiling !== undefined && pricePerHourMicros === null)
    refuse(
      'price_above_ceiling',
      'route.maxPricePerHourMicros',
      'there is a price ceiling, and its price is not known',
    );
  else if (ceiling !== undefined && pricePerHourMicros !== null && pricePerHourMicros > ceiling) {
    const message = `it costs ${pricePerHourMicros} micro-units an hour, the ceiling is ${ceiling}`;
    refuse('price_above_ceiling', 'route.maxPricePerHourMicros', message);
  }
  return [...rejections, ...candidate.rejections];
}

type Key = readonly (number | string)[];

/** Compared from the left: what was asked for by name, what is preferred, the strategy, and the place. */
function sortKey(candidate: Candidate, wishes: Wishes): Key {
  const isNamed = wishes.driver === undefined || wishes.driver.name === candidate.driver;
  return [
    isNamed ? 0 : 1,
    candidate.unmet.length,
    indexOr(wishes.hosts, candidate.host),
    ...strategyKey(candidate, wishes.strategy),
    ...placeOf(candidate, wishes),
  ];
}

function strategyKey(candidate: Candidate, strategy: RouteStrategy): Key {
  const { pricePerHourMicros, latencyMs, selfHosted } = candidate;
  switch (strategy) {
    case 'explicit':
      return [];
    case 'prefer-self-hosted':
      return [selfHosted ? 0 : 1];
    case 'lowest-cost':
      return [pricePerHourMicros ?? Number.POSITIVE_INFINITY];
    case 'lowest-latency':
      // What was never measured, or not for long, goes first: one try tells more than a guess.
      return [latencyMs ?? -1];
  }
}

/** What decides between equals, and holds whatever the order of the candidates was. */
function placeOf(candidate: Candidate, { drivers }: Wishes): Key {
  return [indexOr(drivers, candidate.driver), candidate.order, candidate.driver, candidate.host];
}

function indexOr(names: readonly string[] | undefined, name: string): number {
  if (!names) return 0;
  const index = names.indexOf(name);
  return index === -1 ? names.length : index;
}

function compare(a: Key, b: Key): number {
  for (const [index, one] of a.entries()) {
    const other = b[index];
    if (other === undefined || one === other) continue;
    return one < other ? -1 : 1;
  }
  return 0;
}

function shown(
  candidate: Candidate,
  { strategy }: Wishes,
  rank: number | null,
  rejections: readonly Rejection[],
): RouteCandidate {
  const { driver, host, selfHosted, pricePerHourMicros, latencyMs, unmet, order } = candidate;
  const scores = {
    explicit: order,
    'prefer-self-hosted': selfHosted ? 0 : 1,
    'lowest-cost': pricePerHourMicros,
    'lowest-latency': latencyMs,
  } as const;
  return {
    driver,
    host,
    rank,
    score: scores[strategy],
    selfHosted,
    pricePerHourMicros,
    latencyMs,
    unmet: [...unmet],
    rejections: [...rejections],
  };
}
