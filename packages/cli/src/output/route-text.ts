import type { RouteCandidate, RouteDecision, SandboxRoute } from '@caisson/contract';
import { printable } from './printable.ts';
import type { Screen } from './screen.ts';
import { table } from './table.ts';

/** Every candidate, in the order of tries, with what was weighed; why the others cannot serve right below. */
export function decisionText(screen: Screen, decision: RouteDecision): string {
  const { strategy, chosen, candidates, maxPricePerHourMicros: ceiling, pricesAsOf } = decision;
  const head = chosen
    ? `${screen.paint(`${chosen.driver} on ${chosen.host}`, 'good')}, by ${strategy}`
    : screen.paint(`no backend can serve this, by ${strategy}`, 'bad');
  const prices = `prices as of ${pricesAsOf}${ceiling === null ? '' : `, at most ${ceiling} micro-units an hour`}`;
  const rows = candidates.map((candidate) => [
    candidate.rank === null ? '-' : String(candidate.rank),
    candidate.driver,
    candidate.host,
    candidate.pricePerHourMicros === null ? '?' : String(candidate.pricePerHourMicros),
    candidate.latencyMs === null ? '?' : String(candidate.latencyMs),
    remark(candidate),
  ]);
  return [head, prices, '', table(['RANK', 'DRIVER', 'HOST', 'MICROS/H', 'LAUNCH MS', ''], rows)].join('\n');
}

function remark({ rejections, unmet }: RouteCandidate): string {
  const reasons = rejections.map(
    ({ code, path, message }) => `${code}${path === null ? '' : ` (${path})`}: ${message}`,
  );
  const missing = unmet.length === 0 ? [] : [`without ${unmet.join(', ')}`];
  return printable([...reasons, ...missing].join('; '));
}

/** The same in a line, as a part of what is shown of a sandbox. */
export function routeText(route: SandboxRoute): string {
  const others = route.candidates.filter(({ rank }) => rank === null).length;
  const parts = [
    `${route.strategy}: ${route.driver ?? '-'} on ${route.host ?? '-'}`,
    route.claimed ? 'made ahead' : '',
    ...route.failedTries.map(({ driver, reason }) => `after ${driver} failed (${reason.code}: ${reason.message})`),
    others === 0 ? '' : `${others} of ${route.candidates.length} candidates rejected`,
  ];
  return parts.filter(Boolean).join('; ');
}
