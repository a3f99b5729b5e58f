import { CaissonError } from '@caisson/contract';
import type { ImageBounds } from '../bounds.ts';
import { digestOf, readBounded, short, verified } from '../digest.ts';
import { type Config, type Descriptor, readConfig, readDocument } from './documents.ts';
import { checkPlatform, choosePlatform } from './platform.ts';

/**
 * Where the content of an image comes from: a registry, a folder, an archive. It hands out bytes; whoever asked checks
 * them against their digest, so a source need not be trusted.
 */
export interface ContentSource {
  /** The document that the reference names, and its digest where the source itself promises one. */
  root(signal: AbortSignal): Promise<{ bytes: Buffer; digest?: string }>;
  /** An index or a manifest. */
  document(descriptor: Descriptor, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** A config or a layer. */
  blob(descriptor: Descriptor, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** An image as its documents describe it; nothing of its layers has been read. */
export interface ImageContent {
  /** Of the manifest for this machine. */
  readonly digest: string;
  /** Of what the reference named: the index, where there is one. */
  readonly rootDigest: string;
  readonly config: Config;
  readonly layers: readonly LayerContent[];
  readonly annotations: Readonly<Record<string, string>>;
}

export interface LayerContent {
  readonly diffId: string;
  /** Compressed. Absent where the source does not promise it. */
  readonly size?: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly open: (signal: AbortSignal) => AsyncIterable<Uint8Array>;
}

/** An index within an index is allowed, and of no use: two are more than any builder makes. */
const maxIndexDepth = 3;

export async function readImage(
  source: ContentSource,
  what: string,
  bounds: ImageBounds,
  signal: AbortSignal,
): Promise<ImageContent> {
  const root = await source.root(signal);
  const rootDigest = digestOf(root.bytes);
  if (root.digest !== undefined && root.digest !== rootDigest)
    throw new CaissonError('image_invalid', `what is given for ${what} has the digest ${short(rootDigest)}`, {
      context: { promised: root.digest, found: rootDigest },
    });
  let digest = rootDigest;
  let document = readDocument(root.bytes, what);
  for (let depth = 0; 'index' in document; depth++) {
    if (depth === maxIndexDepth) throw new CaissonError('image_invalid', `${what} has indexes within indexes`);
    const chosen = choosePlatform(document.index, what);
    const content = verified(source.document(chosen, signal), chosen);
    digest = chosen.digest;
    document = readDocument(await readBounded(content, bounds.documentBytes, `the manifest of ${what}`), what);
  }
  const { manifest } = document;
  checkSize(manifest.layers, what, bounds);
  const bytes = await readBounded(
    verified(source.blob(manifest.config, signal), manifest.config),
    bounds.configBytes,
    `the config of ${what}`,
  );
  const config = readConfig(bytes, `the config of ${what}`);
  checkPlatform(config, what);
  const diffIds = config.rootfs.diff_ids ?? [];
  if (diffIds.length !== manifest.layers.length)
    throw new CaissonError(
      'image_invalid',
      `${what} has ${manifest.layers.length} layers, and its config names ${diffIds.length}`,
    );
  const layers = manifest.layers.map((descriptor, n) => ({
    diffId: diffIds[n] ?? '',
    size: descriptor.size,
    annotations: descriptor.annotations ?? {},
    open: (reader: AbortSignal) => verified(source.blob(descriptor, reader), descriptor),
  }));
  return { digest, rootDigest, config, layers, annotations: manifest.annotations ?? {} };
}

function checkSize(layers: readonly Descriptor[], what: string, bounds: ImageBounds): void {
  checkLayerCount(layers.length, what, bounds);
  const bytes = layers.reduce((sum, layer) => sum + layer.size, 0);
  if (bytes > bounds.compressedBytes)
    throw new CaissonError('image_too_large', `${what} has ${bytes} bytes; ${bounds.compressedBytes} are allowed`);
}

export function checkLayerCount(count: number, what: string, bounds: ImageBounds): void {
  if (count === 0) throw new CaissonError('image_invalid', `${what} has no layers`);
  if (count > bounds.layers)
    throw new CaissonError('image_too_large', `${what} has ${count} layers; ${bounds.layers} are allowed`);
}
