import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CaissonError } from '@caisson/contract';
import type { ImageBounds } from '../images/bounds.ts';
import { decompressed } from '../images/decompress.ts';
import { digestEnd, short } from '../images/digest.ts';
import { LayoutSource } from '../images/local/layout-source.ts';
import { openArchive } from '../images/local/open-archive.ts';
import { type LayerContent, readImage } from '../images/oci/content.ts';
import { imageSettings } from '../images/oci/image-settings.ts';
import type { Packer } from '../images/pack/packer.ts';
import { unpackTar } from '../images/unpack.ts';
import type { Workshop } from '../images/ways/workshop.ts';
import { type ArchiveRecord, originAnnotation, readRecord } from './archive-record.ts';

/** The documents of an archive are small beside its layers. */
const documentsBytes = 64 * 1024 ** 2;

export interface ReadWork extends Workshop {
  readonly guestProgram: string;
  readonly packer: Packer;
  readonly signal: AbortSignal;
}

/** An archive whose documents have been read and whose layers are here. */
export interface ReadArchive {
  readonly record: ArchiveRecord;
  readonly env: Readonly<Record<string, string>>;
  /** Folders of the layers of its image, lowest first. */
  readonly layers: readonly string[];
  /** What names these layers here; what the archive says of its image is only a claim. */
  readonly diffIds: readonly string[];
  /** Unpacks the changes into an empty folder, and checks them. */
  readonly fill: (folder: string) => Promise<void>;
}

/** Writes an upload into a file of the draft folder: its parts are read out of order. */
export async function receive(
  body: AsyncIterable<Uint8Array>,
  draft: string,
  { bounds, signal }: Pick<ReadWork, 'bounds' | 'signal'>,
): Promise<string> {
  const file = join(draft, 'upload');
  const most = bounds.compressedBytes + documentsBytes;
  await pipeline(Readable.from(bounded(body, most), { objectMode: false }), createWriteStream(file, { mode: 0o600 }), {
    signal,
  });
  return file;
}

/** The archive may be anybody's: everything that is taken from it has the digest that it was promised with. */
export async function readArchive(file: string, draft: string, work: ReadWork): Promise<ReadArchive> {
  const { signal } = work;
  const what = 'the archive';
  // The changes are a layer more than an image may have.
  const bounds: ImageBounds = { ...work.bounds, layers: work.bounds.layers + 1 };
  const tree = await openArchive(file, draft, bounds.layerBytes, signal);
  const content = await readImage(new LayoutSource(tree, undefined, bounds), what, bounds, signal).catch(notAnImage);
  const record = readRecord(content.annotations);
  const changes = content.layers.at(-1) as LayerContent;
  const layers: { folder: string; diffId: string }[] = [];
  for (const layer of content.layers.slice(0, -1)) {
    const found = await takeLayer(layer, work, () => tree.has(layerName(layer)));
    // One that it has twice covers itself from its upper place, where an overlay takes it.
    const again = layers.findIndex(({ folder }) => folder === found.folder);
    if (again !== -1) layers.splice(again, 1);
    layers.push(found);
  }
  if (layers.length === 0) throw new CaissonError('image_invalid', `${what} has no layer but the changes`);
  return {
    record,
    env: imageSettings(content.config).env,
    layers: layers.map(({ folder }) => folder),
    diffIds: layers.map(({ diffId }) => diffId),
    fill: (folder) => unpackChanges(changes, folder, work),
  };
}

/** Our layers are plain: their blob has the digest of their tar. */
function layerName({ diffId }: LayerContent): string {
  return `blobs/${diffId.replace(':', '/')}`;
}

/**
 * The folder of a layer. One that is here is taken when its files pack to the very bytes that the archive promises: who
 * brings an archive learns nothing of the layers of others, and gets none that it did not have.
 */
async function takeLayer(
  layer: LayerContent,
  work: ReadWork,
  hasContent: () => Promise<boolean>,
): Promise<{ folder: string; diffId: string }> {
  const { layers, packer, signal } = work;
  const isThere = await hasContent();
  for (const diffId of [layer.diffId, layer.annotations?.[originAnnotation]]) {
    if (diffId === undefined || !/^sha256:[0-9a-f]{64}$/.test(diffId) || !layers.has(diffId)) continue;
    const folder = layers.folderOf(diffId);
    if ((await packer.measureLayer(folder, signal)).digest !== layer.diffId) continue;
    if (isThere) for await (const _ of layer.open(signal));
    return { folder, diffId };
  }
  if (!isThere) {
    throw new CaissonError(
      'image_not_found',
      `the archive leaves out the layer ${short(layer.diffId)}, which is not here`,
      {
        hint: 'Export it as a whole, without `thin`.',
      },
    );
  }
  const { folder, diffId } = await layers.ensure(layer.diffId, layer.open, signal);
  return { folder, diffId };
}

async function unpackChanges(changes: LayerContent, folder: string, work: ReadWork): Promise<void> {
  const hash = createHash('sha256');
  await unpackTar(hashed(decompressed(changes.open(work.signal)), hash), folder, {
    guestProgram: work.guestProgram,
    maxBytes: work.bounds.layerBytes,
    maxEntries: work.bounds.layerEntries,
    accessLists: true,
    signal: work.signal,
  });
  const found = digestEnd(hash);
  if (found !== changes.diffId)
    throw new CaissonError('image_invalid', `the changes ${short(changes.diffId)} unpack to ${short(found)}`);
}

async function* hashed(content: AsyncIterable<Uint8Array>, hash: ReturnType<typeof createHash>) {
  for await (const chunk of content) {
    hash.update(chunk);
    yield chunk;
  }
}

async function* bounded(content: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.length;
    if (bytes > most) throw new CaissonError('image_too_large', `the archive has more than ${most} bytes`);
    yield chunk;
  }
}

/** What has no index is no archive of ours; to whoever sent it that is a fault of the file. */
function notAnImage(error: unknown): never {
  if (!(error instanceof CaissonError) || error.code !== 'image_not_found') throw error;
  throw new CaissonError('image_invalid', `the file is no archive of a snapshot: ${error.message}`, { cause: error });
}
