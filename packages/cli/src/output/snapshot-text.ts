import type { Snapshot } from '@caisson/contract';
import { bytesText } from './bytes.ts';
import { pairs, table } from './table.ts';
import { relativeTime } from './time.ts';

export function snapshotTable(snapshots: readonly Snapshot[]): string {
  return table(
    ['ID', 'NAME', 'KIND', 'SANDBOX', 'PARENT', 'SPACE', 'CREATED'],
    snapshots.map((one) => [
      one.id,
      one.name ?? '-',
      one.kind,
      one.sandbox,
      one.parent ?? '-',
      spaceText(one),
      relativeTime(one.createdAt),
    ]),
  );
}

export function snapshotText(snapshot: Snapshot): string {
  const { owner } = snapshot;
  return pairs([
    ['id', snapshot.id],
    ['name', snapshot.name ?? '-'],
    ['kind', snapshot.kind],
    ['sandbox', snapshot.sandbox],
    ['parent', snapshot.parent ?? '-'],
    ['owner', [owner.tenant, owner.project, owner.principal, owner.scope].filter(Boolean).join(' / ')],
    ['space', spaceText(snapshot)],
    ['created', `${snapshot.createdAt} (${relativeTime(snapshot.createdAt)})`],
    ...Object.entries(snapshot.labels).map(([key, value]) => ['label', `${key}=${value}`] as const),
  ]);
}

function spaceText({ exclusiveBytes }: Snapshot): string {
  return exclusiveBytes === null ? '-' : bytesText(exclusiveBytes);
}
