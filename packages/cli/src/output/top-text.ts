import type { Health, SandboxesUsage, SandboxUsage } from '@caisson/contract';
import { bytesText } from './bytes.ts';
import { healthTones } from './health-text.ts';
import type { Screen } from './screen.ts';
import { table } from './table.ts';
import { shortDuration } from './time.ts';

/** One look at everything. */
export interface Moment {
  readonly at: number;
  readonly usage: SandboxesUsage;
  /** Undefined for who may not know. */
  readonly health: Health | undefined;
}

/** The busiest first, by what each used since the look before; the first time there was none, so by memory. */
export function topText(screen: Screen, now: Moment, before: Moment | undefined): string {
  const rows = now.usage.items
    .map((item) => ({ item, share: shareOf(item, now, before) }))
    .sort((a, b) => (b.share ?? -1) - (a.share ?? -1) || memory(b.item) - memory(a.item))
    .map(({ item, share }) => [
      item.name ?? item.sandbox,
      item.owner.principal,
      item.driver ?? '-',
      share === undefined ? '-' : `${(share * 100).toFixed(1)}%`,
      item.stats ? bytesText(item.stats.memoryBytes) : '-',
      item.stats ? String(item.stats.processes) : '-',
      typeof item.stats?.diskUsedBytes === 'number' ? bytesText(item.stats.diskUsedBytes) : '-',
      typeof item.stats?.uptimeSeconds === 'number' ? shortDuration(item.stats.uptimeSeconds) : '-',
    ]);
  const titles = ['SANDBOX', 'OWNER', 'DRIVER', 'CPU', 'MEMORY', 'PROCESSES', 'DISK', 'UP'];
  return [head(screen, now), '', table(titles, rows)].join('\n');
}

function head(screen: Screen, { usage, health }: Moment): string {
  const count = `${usage.items.length}${usage.isWhole ? '' : ' of more'} running`;
  const held = bytesText(usage.items.reduce((sum, item) => sum + memory(item), 0));
  const state = health === undefined ? '' : `, the server is ${screen.paint(health.state, healthTones[health.state])}`;
  return `${count}, ${held} of memory${state}`;
}

function shareOf(item: SandboxUsage, now: Moment, before: Moment | undefined): number | undefined {
  const last = before?.usage.items.find(({ sandbox }) => sandbox === item.sandbox)?.stats;
  if (!before || !last || !item.stats) return undefined;
  return Math.max(0, (item.stats.cpuSeconds - last.cpuSeconds) / ((now.at - before.at) / 1000));
}

function memory({ stats }: SandboxUsage): number {
  return stats?.memoryBytes ?? 0;
}
