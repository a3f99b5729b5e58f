import type { HostReport, InstallationCapabilities, ReapReport, StaleReport } from '@caisson/contract';
import { bytesText } from './bytes.ts';
import type { Screen } from './screen.ts';
import { pairs, table } from './table.ts';

export function hostText(screen: Screen, report: HostReport): string {
  const { memory, disk, storage, sandboxes, load, lacks } = report;
  const states = Object.entries(sandboxes.byState).map(([state, count]) => `${count} ${state}`);
  const pooled = sandboxes.inPools > 0 ? [`${sandboxes.inPools} in warm pools`] : [];
  const head = pairs([
    ['host', report.name],
    ['server', `${report.version}, Node ${report.node}, Linux ${report.kernel}`],
    ['load', `${load.map((one) => one.toFixed(2)).join(' ')} on ${report.cpus} processors`],
    ['memory', `${bytesText(memory.availableBytes)} of ${bytesText(memory.totalBytes)} available`],
    ['disk', `${bytesText(disk.freeBytes)} of ${bytesText(disk.totalBytes)} free`],
    ...(storage ? [['storage', storageText(storage)] as [string, string]] : []),
    ['sandboxes', [...states, ...pooled].join(', ') || 'none'],
    ['places', `${sandboxes.live} taken${sandboxes.max === null ? '' : ` of ${sandboxes.max}`}`],
    ['room', lacks.length === 0 ? { text: 'yes', paint: (text) => screen.paint(text, 'good') } : lackText(lacks)],
  ]);
  const rows = report.drivers.map((driver) => [
    driver.name,
    driver.usable ? (driver.version ?? '') : 'not usable',
    driver.trust,
    driver.latencyMs === null ? '?' : String(driver.latencyMs),
    driver.detail,
  ]);
  return [head, '', table(['DRIVER', 'VERSION', 'CIRCUIT', 'LAUNCH MS', 'DETAIL'], rows)].join('\n');
}

function storageText({ name, state, freeBytes, totalBytes }: NonNullable<HostReport['storage']>): string {
  return `${name}, ${state}: ${bytesText(freeBytes)} of ${bytesText(totalBytes)} free`;
}

function lackText(lacks: HostReport['lacks']): string {
  return `no: ${lacks.map(({ message }) => message).join('; ')}`;
}

/** Each with what is wrong with it; after a reaping, with what became of it. */
export function staleText(report: StaleReport | ReapReport): string {
  const applied = 'applied' in report && report.applied;
  const rows = report.items.map((item) => [
    item.kind,
    item.name,
    item.driver ?? '-',
    applied ? ('reaped' in item && item.reaped ? 'reaped' : 'left') : item.reapable ? 'yes' : 'no',
    item.detail,
  ]);
  const unseen = report.unseen.map(({ driver, why }) => `the driver ${driver} could not be looked at: ${why}`);
  const found =
    rows.length === 0
      ? 'nothing is stale'
      : table(['KIND', 'NAME', 'DRIVER', applied ? 'END' : 'REAPABLE', 'DETAIL'], rows);
  return [found, ...unseen].join('\n');
}

export function capabilitiesText(found: InstallationCapabilities): string {
  const head = pairs([
    ['version', found.version],
    ['storage', found.storage?.name ?? '-'],
    ['network', found.networkModes.join(', ') || '-'],
    ['profiles', found.profiles.join(', ')],
    ['strategies', found.strategies.join(', ')],
    ['hosts', found.hosts.join(', ')],
    ['prices', `as of ${found.pricesAsOf}`],
  ]);
  const rows = found.drivers.map(({ name, usable, version, runtimes, capabilities }) => [
    name,
    usable ? (version ?? '') : 'not usable',
    String(capabilities.isolation ?? '-'),
    runtimes.flatMap((one) => (one.usable ? [one.name] : [])).join(', ') || '-',
  ]);
  return [head, '', table(['DRIVER', 'VERSION', 'ISOLATION', 'RUNTIMES'], rows)].join('\n');
}
