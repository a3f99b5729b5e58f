import { digestOf } from '../digest.ts';
import type { PackedLayer } from '../pack/packed-blobs.ts';
import { mediaTypes } from './documents.ts';
import type { ImageSettings } from './image-settings.ts';
import { machineArchitecture } from './platform.ts';

export interface ImageToCompose {
  readonly digest: string;
  readonly name: string;
  readonly config: ImageSettings;
  readonly madeAt?: string;
  /** How each layer came to be, lowest first. */
  readonly history?: readonly string[] | undefined;
}

export interface ComposedImage {
  readonly config: Buffer;
  readonly configDigest: string;
  readonly manifest: Buffer;
  /** Of the manifest: what the image is called by. */
  readonly digest: string;
}

/** By which label an image of ours is known elsewhere. */
export const originLabel = 'dev.caisson.image';

/**
 * The documents of an image as OCI has them. They depend on what they are made from and on nothing else, so that the same
 * image is published under the same digest each time.
 */
export function composeImage(
  image: ImageToCompose,
  layers: readonly PackedLayer[],
  labels: Readonly<Record<string, string>> = {},
): ComposedImage {
  const { env, workingDirectory, user, entrypoint, command, labels: own = {} } = image.config;
  // Without either an engine has nothing to run.
  const started = command ?? (entrypoint === undefined ? ['/bin/sh'] : undefined);
  const created = image.madeAt === undefined ? {} : { created: image.madeAt };
  const config = json({
    ...created,
    architecture: machineArchitecture(),
    os: 'linux',
    config: {
      Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
      ...(workingDirectory === undefined ? {} : { WorkingDir: workingDirectory }),
      ...(user === undefined ? {} : { User: user }),
      ...(entrypoint === undefined ? {} : { Entrypoint: entrypoint }),
      ...(started === undefined ? {} : { Cmd: started }),
      Labels: sorted({ ...own, [originLabel]: image.digest, ...labels }),
    },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map((_, n) => ({ ...created, created_by: image.history?.[n] ?? `caisson: ${image.name}` })),
  });
  const configDigest = digestOf(config);
  const manifest = json({
    schemaVersion: 2,
    mediaType: mediaTypes.ociManifest,
    config: { mediaType: mediaTypes.ociConfig, digest: configDigest, size: config.length },
    layers: layers.map(({ mediaType, digest, size }) => ({ mediaType, digest, size })),
  });
  return { config, configDigest, manifest, digest: digestOf(manifest) };
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function sorted(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}
