import type { Room } from '../layered/room.ts';

const mib = 1024 ** 2;
const gib = 1024 ** 3;

/** Smaller than this btrfs has no room for its own trees. */
const leastBytes = 256 * mib;
/** A pool is promised half of what is free: the disk has other users, and it grows when the rest is still there. */
const firstShare = 0.5;
/** Well before the pool is reported as degraded. */
const shortBelow = 0.25;
const growth = 0.5;

/** What the pool leaves to the disk's other users. */
function reserveBytes({ totalBytes }: Room): number {
  return Math.max(gib, totalBytes * 0.05);
}

export function firstSize(disk: Room): number {
  return wholeMiB(Math.max(leastBytes, disk.freeBytes * firstShare));
}

export function isShort({ totalBytes, freeBytes }: Room): boolean {
  return freeBytes < totalBytes * shortBelow;
}

/** The next size of a pool that runs short; undefined when the disk cannot give more than it has promised already. */
export function largerSize(pool: Room, disk: Room): number | undefined {
  // What the pool has free is not on the disk yet, and will be.
  const room = disk.freeBytes - reserveBytes(disk) - pool.freeBytes;
  const more = wholeMiB(Math.min(Math.max(pool.totalBytes * growth, leastBytes), room));
  return more < leastBytes / 4 ? undefined : pool.totalBytes + more;
}

function wholeMiB(bytes: number): number {
  return Math.floor(bytes / mib) * mib;
}
