import type { Health, HealthCheck, HealthState } from '@caisson/contract';
import type { Screen, Tone } from './screen.ts';
import { table } from './table.ts';

export const healthTones: Readonly<Record<HealthState, Tone>> = { ok: 'good', degraded: 'busy', critical: 'bad' };

export function healthText(screen: Screen, { state, checks }: Health): string {
  const rows = checks.map((check) => [
    { text: check.state, paint: (text: string) => screen.paint(text, healthTones[check.state]) },
    check.name,
    valueText(check.value, check.unit),
    `below ${valueText(check.warn, check.unit)}`,
    check.reason === null ? '' : `${check.reason}; see ${check.runbook}`,
  ]);
  return [table(['STATE', 'WHAT', 'NOW', 'SHOULD BE', 'WHY'], rows), '', `The server is ${state}.`].join('\n');
}

function valueText(value: number | null, unit: HealthCheck['unit']): string {
  if (value === null) return '-';
  if (unit === 'share') return `${(value * 100).toFixed(0)} %`;
  return unit === 'count' ? String(value) : `${Number(value.toFixed(1))} ${unit}`;
}
