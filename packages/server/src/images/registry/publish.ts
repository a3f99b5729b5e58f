import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CaissonError } from '@caisson/contract';
import { digestPattern, layerOfFolder } from '../digest.ts';
import type { BaseImage } from '../images.ts';
import { composeImage } from '../oci/compose-image.ts';
import { mediaTypes } from '../oci/documents.ts';
import type { LayerForm, PackedBlobs, PackedLayer } from '../pack/packed-blobs.ts';
import type { RegistryReference } from '../reference.ts';
import type { Workshop } from '../ways/workshop.ts';
import type { BlobPlaces } from './blob-places.ts';
import { RegistryClient, type RegistryPlace } from './registry-client.ts';
import { Repository } from './repository.ts';
import { type UploadOutcome, uploadBlob } from './upload-blob.ts';

/** One stream does not fill a line, and more than a few only take the processor from each other. */
const atOnce = 3;

export interface PublishOptions {
  readonly form?: LayerForm | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}

export interface Published {
  /** Where it is now: host, repository and tag. */
  readonly reference: string;
  /** Of its manifest there. */
  readonly digest: string;
  readonly sizeBytes: number;
  readonly layers: Readonly<Record<UploadOutcome, number>>;
  readonly sentBytes: number;
}

export interface Publishing extends Pick<Workshop, 'drafts' | 'bounds' | 'inUse'> {
  readonly blobs: PackedBlobs;
  readonly places: BlobPlaces;
}

/**
 * Brings an image to a registry: its layers, then its config, then the manifest under the tag, so that a tag never names
 * what is not all there. What the registry has is not sent, and an image that it has under this tag costs one question.
 */
export async function publish(
  image: BaseImage,
  target: RegistryReference,
  place: RegistryPlace,
  work: Publishing,
  options: PublishOptions,
): Promise<Published> {
  const { form = 'gzip', labels, signal } = options;
  const layers = layersOf(image);
  const { host, repository, tag } = target;
  const reference = `${host}/${repository}:${tag}`;
  const plain = new RegistryClient({ ...place, actions: 'pull,push' });
  const known = await Promise.all(layers.map(({ layer }) => work.blobs.known(layer, form)));
  if (known.every((packed) => packed !== undefined)) {
    const { digest } = composeImage(image, known, labels);
    const found = await new Repository(plain, work.bounds).head(tag, signal);
    if (found?.digest === digest) {
      const counts = { there: layers.length, mounted: 0, sent: 0 };
      return { reference, digest, sizeBytes: sizeOf(known), layers: counts, sentBytes: 0 };
    }
  }
  const packed = await packAll(layers, form, work, options);
  const release = work.inUse.hold(packed.map(({ digest }) => digest));
  try {
    return await send(image, packed, target, place, work, options);
  } finally {
    release();
  }
}

async function send(
  image: BaseImage,
  packed: readonly PackedLayer[],
  { host, repository, tag }: RegistryReference,
  place: RegistryPlace,
  work: Publishing,
  { labels, signal, progress }: PublishOptions,
): Promise<Published> {
  const reference = `${host}/${repository}:${tag}`;
  const from = await work.places.find(host, repository, packed);
  const alsoRead = [...new Set(from.values())];
  const client = new RegistryClient({ ...place, actions: 'pull,push', alsoRead });
  const composed = composeImage(image, packed, labels);
  const unique = [...new Map(packed.map((layer) => [layer.digest, layer])).values()];
  const counts = { there: 0, mounted: 0, sent: 0 };
  let sentBytes = 0;
  await inTurns(unique, signal, async ({ digest, size }, inner) => {
    const blob = { digest, size, file: work.blobs.fileOf(digest) };
    const outcome = await uploadBlob(client, blob, { signal: inner, mountFrom: from.get(digest) });
    counts[outcome]++;
    if (outcome === 'sent') sentBytes += size;
    const done = counts.there + counts.mounted + counts.sent;
    progress(`layer ${done} of ${unique.length}: ${outcomeWords[outcome]}, ${mebibytes(size)}`);
  });
  await work.drafts.use(async (draft) => {
    const file = join(draft, 'config');
    await writeFile(file, composed.config, { mode: 0o600 });
    await uploadBlob(client, { digest: composed.configDigest, size: composed.config.length, file }, { signal });
  });
  await new Repository(client, work.bounds).put(tag, composed.manifest, mediaTypes.ociManifest, signal);
  await work.places.remember(host, repository, packed);
  progress(`${reference} is ${composed.digest}`);
  return { reference, digest: composed.digest, sizeBytes: sizeOf(packed), layers: counts, sentBytes };
}

const outcomeWords: Readonly<Record<UploadOutcome, string>> = {
  there: 'it is there',
  mounted: 'taken from another repository',
  sent: 'sent',
};

/** The layers by the digests that they have here. */
function layersOf({ layers, name, binds = [] }: BaseImage): { readonly layer: string; readonly folder: string }[] {
  if (binds.length > 0)
    throw new CaissonError('image_not_portable', `${name} shows folders of this machine, which no registry can hold`);
  return layers.map((folder) => {
    const layer = layerOfFolder(folder);
    if (!digestPattern.test(layer)) throw new CaissonError('image_invalid', `${name} has a layer without a digest`);
    return { layer, folder };
  });
}

async function packAll(
  layers: readonly { readonly layer: string; readonly folder: string }[],
  form: LayerForm,
  { blobs }: Publishing,
  { signal, progress }: PublishOptions,
): Promise<PackedLayer[]> {
  const packed = new Map<string, PackedLayer>();
  if (layers.length > 0) progress(`packing ${layers.length} ${layers.length === 1 ? 'layer' : 'layers'}`);
  await inTurns(layers, signal, async ({ layer, folder }, inner) => {
    packed.set(layer, await blobs.ensure(layer, folder, form, inner));
  });
  return layers.flatMap(({ layer }) => packed.get(layer) ?? []);
}

/** Some at a time; the first failure ends the others, and is the one that is told. */
async function inTurns<T>(
  items: readonly T[],
  signal: AbortSignal,
  work: (item: T, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined && !either.aborted; next = waiting.shift())
      await work(next, either).catch((error: unknown) => failed.abort(error));
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  signal.throwIfAborted();
  if (failed.signal.aborted) throw failed.signal.reason;
}

function sizeOf(layers: readonly PackedLayer[]): number {
  return layers.reduce((sum, { size }) => sum + size, 0);
}

function mebibytes(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}
