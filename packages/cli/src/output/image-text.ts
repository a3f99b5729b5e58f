import type { Image } from '@caisson/contract';
import { bytesText } from './bytes.ts';
import { printable } from './printable.ts';
import { table } from './table.ts';
import { relativeTime } from './time.ts';

/** As much of a digest as tells images apart, and as `findImage` takes it. */
function shortDigest(digest: string): string {
  return digest.slice(0, 'sha256:'.length + 12);
}

export function imageTable(items: readonly Image[]): string {
  const rows = items.map((item) => [
    shortDigest(item.digest),
    printable(item.name ?? '-'),
    item.sizeBytes === null ? '-' : bytesText(item.sizeBytes),
    String(item.sandboxes),
    String(item.snapshots),
    item.usedAt === null ? '-' : relativeTime(item.usedAt),
    item.isKept === true ? 'kept' : '',
  ]);
  return table(['DIGEST', 'NAME', 'SIZE', 'SANDBOXES', 'SNAPSHOTS', 'USED', ''], rows);
}

export function imageText(item: Image): string {
  const lines: [string, string][] = [
    ['digest', item.digest],
    ['name', printable(item.name ?? '-')],
    ['size', item.sizeBytes === null ? 'kept by a backend' : bytesText(item.sizeBytes)],
    ['layers', String(item.layers.length)],
    ['sandboxes', String(item.sandboxes)],
    ['snapshots', String(item.snapshots)],
    ...(item.usedAt === null ? [] : ([['used', relativeTime(item.usedAt)]] as [string, string][])),
    ...(item.isKept === true ? ([['kept', 'until it is deleted']] as [string, string][]) : []),
  ];
  return lines.map(([name, value]) => `${name.padEnd(10)} ${value}`).join('\n');
}
