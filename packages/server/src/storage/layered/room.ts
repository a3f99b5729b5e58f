import { statfs } from 'node:fs/promises';

/** A filesystem by its size. */
export interface Room {
  readonly totalBytes: number;
  readonly freeBytes: number;
}

/** As `df` counts: what is kept back for others is neither free nor used. */
export async function roomOf(folder: string): Promise<Room> {
  const { blocks, bfree, bavail, bsize } = await statfs(folder);
  return { totalBytes: (blocks - bfree + bavail) * bsize, freeBytes: bavail * bsize };
}
