import { type EgressRecord, type EgressTraffic, type EgressUsage, egressRefusals } from '@caisson/contract';
import { bytesText } from './bytes.ts';
import { printable } from './printable.ts';
import type { Screen } from './screen.ts';
import { table } from './table.ts';

/** One line for one record: when, what was decided, about what, why, and what would change it. */
export function egressText(screen: Pick<Screen, 'paint'>, record: EgressRecord, ref: string): string {
  const { time, verdict, protocol, count } = record;
  const parts = [
    time,
    screen.paint(verdict, verdict === 'allowed' ? 'good' : 'bad'),
    printable(targetText(record)),
    protocol,
    printable(whyText(record)),
    count > 1 ? `(${count} times)` : '',
    commandText(record, ref),
  ];
  return parts.filter((part) => part !== '').join('  ');
}

export function usageText({ hosts, totals, limits }: EgressUsage): string {
  const header = ['HOST', 'SENT', 'RECEIVED', 'CONNECTIONS', 'ALLOWED', 'REFUSED'];
  const rows = [...hosts.map((one) => rowOf(one.host, one)), rowOf('all', totals)];
  const bounds = Object.entries(limits).map(([name, value]) => `${name} ${value}`);
  return `${table(header, rows)}\n\nlimits: ${bounds.length === 0 ? 'none' : bounds.join(', ')}`;
}

function rowOf(name: string, { sentBytes, receivedBytes, connections, allowed, refused }: EgressTraffic): string[] {
  return [name, bytesText(sentBytes), bytesText(receivedBytes), ...[connections, allowed, refused].map(String)];
}

function targetText({ host, port }: EgressRecord): string {
  if (host === '*') return 'several hosts';
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function whyText({ verdict, why, rule, secrets }: EgressRecord): string {
  if (verdict === 'refused') return [why === null ? '' : egressRefusals[why], rule].filter(Boolean).join(': ');
  return [rule === null ? '' : `by ${rule}`, secrets.length > 0 ? `with ${secrets.join(', ')}` : '']
    .filter(Boolean)
    .join(' ');
}

/** Part of it comes from the inside: only what no shell reads as anything else is written as a command. */
function commandText({ suggestion }: EgressRecord, ref: string): string {
  if (suggestion === null || !/^[\w[][\w.:[\]/-]*$/.test(suggestion)) return '';
  const entry = suggestion.includes('[') ? `'${suggestion}'` : suggestion;
  return `allow it: caisson network allow ${ref} ${entry}`;
}
