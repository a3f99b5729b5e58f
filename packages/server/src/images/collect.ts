import { existsSync, lstatSync, renameSync, rmSync, statSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '@caisson/contract';
import { digestPattern } from './digest.ts';
import type { KeptImage, Shelf } from './shelf.ts';

/** What something names, and must therefore stay. */
export interface ImageRoots {
  readonly images: ReadonlySet<string>;
  /** Digests of layers. */
  readonly layers: ReadonlySet<string>;
}

export interface CollectLimits {
  /** What is younger, or was asked for since, stays whatever names it: somebody may be about to use it. */
  readonly graceMs: number;
  /** How long an image stays that nothing uses. */
  readonly unusedMs: number;
  /** How much may stay that nothing uses; the longest unused goes first. */
  readonly unusedBytes: number;
}

export interface Collected {
  readonly images: readonly string[];
  readonly layers: readonly string[];
  readonly blobs: number;
  readonly freedBytes: number;
}

/**
 * Removes what nothing refers to: images that no sandbox, no snapshot and nobody's wish keeps, layers that no image and no
 * root filesystem stands on, and packed layers that were not asked for in a long time.
 *
 * Laws
 * 1. Records go before layers. Killed anywhere, a record whose layers are not all there counts as none, and a layer without
 *    a record is found by the next pass.
 * 2. Whatever is held, or was asked for since shortly before the roots were read, stays. Between that last look and the
 *    removal nothing else runs.
 * 3. A layer leaves its place in one step; what is still to be deleted then is nobody's.
 */
export async function collect(
  shelf: Shelf,
  roots: (signal: AbortSignal) => Promise<ImageRoots>,
  limits: CollectLimits,
  signal: AbortSignal,
): Promise<Collected> {
  const sinceMs = Date.now() - limits.graceMs;
  const named = await roots(signal);
  const images = await collectImages(shelf, named, limits, sinceMs);
  signal.throwIfAborted();
  const layers = await collectLayers(shelf, named, sinceMs);
  signal.throwIfAborted();
  const blobs = await collectBlobs(shelf, limits, sinceMs);
  (await shelf.tools()).inUse.forgetBefore(sinceMs);
  const { count, bytes } = blobs;
  return { images, layers: layers.gone, blobs: count, freedBytes: layers.bytes + bytes };
}

async function collectImages(
  shelf: Shelf,
  named: ImageRoots,
  { unusedMs, unusedBytes }: CollectLimits,
  sinceMs: number,
): Promise<string[]> {
  const { inUse, records } = await shelf.tools();
  const all = await shelf.list();
  const unused = all.filter(
    ({ digest, isKept }) => !named.images.has(digest) && !isKept && inUse.isFree(digest, sinceMs),
  );
  const used = all.filter((image) => !unused.includes(image)).flatMap(({ layers }) => layers);
  const room = new UnusedRoom(unused, new Set([...named.layers, ...used]));
  for (const diffId of room.layers) room.add(diffId, await shelf.layerBytes(diffId));
  const gone: string[] = [];
  for (const image of unused.sort(byUse)) {
    const usedMs = Date.parse(image.usedAt);
    const isTooMuch = room.bytes > unusedBytes;
    if (usedMs >= sinceMs || (!isTooMuch && Date.now() - usedMs < unusedMs)) continue;
    if (!inUse.isFree(image.digest, sinceMs)) continue;
    rmSync(records.file(image.digest), { force: true });
    room.leave(image);
    gone.push(image.digest);
  }
  for (const key of await records.listBases()) {
    const digest = await records.lookBase(key);
    if (digest === undefined || !existsSync(records.file(digest))) await rm(records.baseFile(key), { force: true });
  }
  return gone;
}

/** What the layers of unused images take, each counted once, and not those that something else needs anyway. */
class UnusedRoom {
  bytes = 0;
  readonly #users = new Map<string, number>();
  readonly #sizes = new Map<string, number>();

  constructor(images: readonly KeptImage[], needed: ReadonlySet<string>) {
    for (const diffId of images.flatMap(({ layers }) => layers))
      if (!needed.has(diffId)) this.#users.set(diffId, (this.#users.get(diffId) ?? 0) + 1);
  }

  get layers(): string[] {
    return [...this.#users.keys()];
  }

  add(diffId: string, bytes: number): void {
    this.#sizes.set(diffId, bytes);
    this.bytes += bytes;
  }

  leave({ layers }: KeptImage): void {
    for (const diffId of layers) {
      const left = (this.#users.get(diffId) ?? 0) - 1;
      this.#users.set(diffId, left);
      if (left === 0) this.bytes -= this.#sizes.get(diffId) ?? 0;
    }
  }
}

/** The longest unused first. */
function byUse(a: KeptImage, b: KeptImage): number {
  return a.usedAt < b.usedAt ? -1 : 1;
}

async function collectLayers(
  shelf: Shelf,
  named: ImageRoots,
  sinceMs: number,
): Promise<{ gone: string[]; bytes: number }> {
  const { inUse, records, drafts, layers } = await shelf.tools();
  const live = new Set(named.layers);
  for (const digest of await records.list())
    for (const diffId of (await records.look(digest))?.diffIds ?? []) live.add(diffId);
  const gone: string[] = [];
  let bytes = 0;
  for (const name of await readdir(join(drafts.path, 'layers'))) {
    const diffId = name.replace('-', ':');
    if (!digestPattern.test(diffId) || live.has(diffId) || !inUse.isFree(diffId, sinceMs)) continue;
    const size = await shelf.layerBytes(diffId);
    const place = layers.folderOf(diffId);
    const trash = join(drafts.path, 'making', newId('request'));
    // From here to the move nobody else has a turn.
    if (!inUse.isFree(diffId, sinceMs) || !isOlder(place, sinceMs)) continue;
    renameSync(place, trash);
    gone.push(diffId);
    bytes += size;
    await rm(trash, { recursive: true, force: true, maxRetries: 3 });
    await rm(layers.factsOf(diffId), { force: true });
  }
  return { gone, bytes };
}

async function collectBlobs(
  shelf: Shelf,
  { unusedMs, unusedBytes }: CollectLimits,
  sinceMs: number,
): Promise<{ count: number; bytes: number }> {
  const { inUse, drafts, layers, blobs } = await shelf.tools();
  const named = new Set<string>();
  for (const name of await readdir(join(drafts.path, 'packed'))) {
    const form = /^(sha256-[0-9a-f]{64})\.(gzip|tar)\.json$/.exec(name);
    const layer = form?.[1]?.replace('-', ':');
    if (layer === undefined) continue;
    const packed = layers.isThere(layer) ? await blobs.known(layer, form?.[2] as 'gzip' | 'tar') : undefined;
    if (packed) named.add(packed.digest);
    else if (inUse.isFree(layer, sinceMs)) await rm(join(drafts.path, 'packed', name), { force: true });
  }
  const kept = (await readdir(join(drafts.path, 'blobs')))
    .flatMap((name) => {
      const found = statSync(join(drafts.path, 'blobs', name), { throwIfNoEntry: false });
      return found ? [{ name, digest: name.replace('-', ':'), size: found.size, usedMs: found.mtimeMs }] : [];
    })
    .sort((a, b) => a.usedMs - b.usedMs);
  let left = kept.reduce((sum, { size }) => sum + size, 0);
  let count = 0;
  let bytes = 0;
  for (const { name, digest, size, usedMs } of kept) {
    const isWanted = named.has(digest) && Date.now() - usedMs < unusedMs && left <= unusedBytes;
    const file = join(drafts.path, 'blobs', name);
    if (isWanted || !inUse.isFree(digest, sinceMs) || !isUnused(file, sinceMs)) continue;
    rmSync(file, { force: true });
    left -= size;
    bytes += size;
    count++;
  }
  return { count, bytes };
}

/** By the time at which it came to its place: those of its content may be anything. */
function isOlder(place: string, sinceMs: number): boolean {
  const found = lstatSync(place, { throwIfNoEntry: false });
  return found !== undefined && found.ctimeMs < sinceMs;
}

function isUnused(file: string, sinceMs: number): boolean {
  const found = statSync(file, { throwIfNoEntry: false });
  return found !== undefined && found.mtimeMs < sinceMs;
}
