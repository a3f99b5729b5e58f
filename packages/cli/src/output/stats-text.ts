import type { SandboxStats } from '@caisson/contract';
import { bytesText } from './bytes.ts';
import { pairs } from './table.ts';
import { shortDuration } from './time.ts';

export function statsText(stats: SandboxStats): string {
  return pairs([
    ['cpu', `${stats.cpuSeconds.toFixed(2)} s`],
    ['memory', bytesText(stats.memoryBytes)],
    ['processes', String(stats.processes)],
    ['disk', diskText(stats)],
    ['up', stats.uptimeSeconds === null ? '-' : shortDuration(stats.uptimeSeconds)],
  ]);
}

const columns = [8, 10, 10, 24] as const;
export const statsTitle = line(['CPU', 'MEMORY', 'PROCESSES', 'DISK']);

/** One line for one moment; lines that come one after another cannot be as wide as the widest. */
export function statsLine(stats: SandboxStats, cpuShare: number | undefined): string {
  const cpu = cpuShare === undefined ? '-' : `${(cpuShare * 100).toFixed(1)}%`;
  return line([cpu, bytesText(stats.memoryBytes), String(stats.processes), diskText(stats)]);
}

function line(cells: readonly string[]): string {
  return cells
    .map((cell, index) => cell.padEnd(columns[index] ?? 0))
    .join('  ')
    .trimEnd();
}

function diskText({ diskUsedBytes: used, diskTotalBytes: total }: SandboxStats): string {
  if (used === null) return '-';
  return total === null ? bytesText(used) : `${bytesText(used)} of ${bytesText(total)}`;
}
