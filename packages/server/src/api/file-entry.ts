import type { FileEntry, GrepMatch, WatchBatch } from '@caisson/contract';
import type { Entry, WatchBatch as GuestBatch, GrepMatch as GuestMatch } from '@caisson/guest';

/** A node of the guest as the API shows it. */
export function fileEntry(entry: Entry): FileEntry {
  const { path, kind, size, mode, uid, gid, owner, group, target } = entry;
  return {
    path,
    kind,
    size,
    mode,
    uid,
    gid,
    owner: owner ?? null,
    group: group ?? null,
    modifiedAt: modifiedAt(entry),
    target: target ?? null,
  };
}

/** Names of the same file with other content: size and time to the nanosecond. */
export function entityTag({ size, mtimeSeconds, mtimeNanoseconds }: Entry): string {
  return `"${size.toString(36)}-${mtimeSeconds.toString(36)}-${mtimeNanoseconds.toString(36)}"`;
}

export function modifiedAt({ mtimeSeconds, mtimeNanoseconds }: Entry): string {
  const ms = mtimeSeconds * 1000 + Math.floor(mtimeNanoseconds / 1e6);
  // Files may be as old as their writer says; `Date` has an end on both sides.
  return new Date(Math.max(-8.64e15, Math.min(ms, 8.64e15))).toISOString();
}

export function grepMatch({ path, line, text, start, end, before, after }: GuestMatch): GrepMatch {
  return { path, line, text, start, end, before: [...before], after: [...after] };
}

export function watchBatch({ events, overflow }: GuestBatch): WatchBatch {
  return {
    events: events.map(({ kind, path, renamedTo, directory }) => ({
      kind,
      path,
      renamedTo: renamedTo ?? null,
      directory,
    })),
    overflow,
  };
}
