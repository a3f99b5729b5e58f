import type { Backend, HourlyRates, PriceTable } from '@caisson/contract';

/** Those that run on machines of the installation's own, which cost the same whether anybody uses them or not. */
export const selfHostedDrivers: readonly string[] = ['oci', 'docker', 'podman', 'fake'];

/** What ships: machines of one's own cost nothing more. Whoever pays for theirs, or for others', says so in `prices.yaml`. */
export const shippedPrices: PriceTable = {
  asOf: '2026-11-01',
  entries: selfHostedDrivers.map((driver) => ({ driver, perHour: 0, perCpuHour: 0, perGiBHour: 0 })),
};

export interface PricedSize {
  readonly cpus: number;
  readonly memoryMiB: number;
  readonly diskMiB?: number;
}

/** What an hour of this size costs there, rounded up; null when the table does not say. */
export function priceOf(table: PriceTable, backend: Backend, size: PricedSize): number | null {
  return ratesOf(table, backend, size)?.runningMicros ?? null;
}

/** What an hour costs there by what a sandbox does; null when the table does not say. */
export function ratesOf(table: PriceTable, backend: Backend, size: PricedSize): HourlyRates | null {
  const entry = entryOf(table, backend);
  if (!entry) return null;
  const memory = (entry.perGiBHour * size.memoryMiB) / 1024;
  const disk = ((entry.perDiskGiBHour ?? 0) * (size.diskMiB ?? 0)) / 1024;
  return {
    runningMicros: Math.ceil(entry.perHour + entry.perCpuHour * size.cpus + memory + disk),
    pausedMicros: Math.ceil(entry.perHour + memory + disk),
    stoppedMicros: Math.ceil(disk),
  };
}

function entryOf({ entries }: PriceTable, { driver, host }: Backend) {
  const fitting = entries.filter((entry) => entry.driver === driver);
  return fitting.find((one) => one.host === host) ?? fitting.find((one) => one.host === undefined);
}

/** Entries of the upper table stand in place of those of the lower with the same driver and host. */
export function overPrices(lower: PriceTable, upper: PriceTable): PriceTable {
  const named = new Set(upper.entries.map(({ driver, host }) => `${driver} ${host ?? ''}`));
  const kept = lower.entries.filter(({ driver, host }) => !named.has(`${driver} ${host ?? ''}`));
  return { asOf: upper.asOf, entries: [...kept, ...upper.entries] };
}
