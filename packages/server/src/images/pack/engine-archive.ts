import { ownImages } from '../../drivers/driver.ts';
import { digestOf } from '../digest.ts';
import type { BaseImage } from '../images.ts';
import { machineArchitecture } from '../oci/platform.ts';
import type { Packer } from './packer.ts';
import { archiveEnd, memberHeader, paddingOf } from './tar-member.ts';

/** The name under which an engine is given an image of ours. */
export function engineTag(digest: string): string {
  return `${ownImages}image:${digest.replace(':', '-')}`;
}

/**
 * An image as `docker save` writes it, which every engine loads: its layers packed again out of the folders that they were
 * unpacked to. The same image gives the same bytes, so an engine gives it the same id.
 */
export async function* engineArchive(
  image: BaseImage,
  tag: string,
  packer: Packer,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const layers = [];
  for (const folder of image.layers) layers.push({ folder, ...(await packer.measureLayer(folder, signal)) });
  const { env, workingDirectory } = image.config;
  const config = Buffer.from(
    JSON.stringify({
      architecture: machineArchitecture(),
      os: 'linux',
      config: {
        Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
        ...(workingDirectory === undefined ? {} : { WorkingDir: workingDirectory }),
      },
      rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => digest) },
      history: layers.map(() => ({ created_by: image.name })),
    }),
  );
  const configName = `${digestOf(config).replace('sha256:', '')}.json`;
  const names = layers.map(({ digest }) => `${digest.replace('sha256:', '')}/layer.tar`);
  const manifest = Buffer.from(JSON.stringify([{ Config: configName, RepoTags: [tag], Layers: names }]));
  yield* member('manifest.json', manifest);
  yield* member(configName, config);
  const written = new Set<string>();
  for (const { folder, digest, size } of layers) {
    // Two layers of the same content are one file.
    if (written.has(digest)) continue;
    written.add(digest);
    yield memberHeader(`${digest.replace('sha256:', '')}/layer.tar`, size);
    yield* packer.open(folder, signal);
    yield paddingOf(size);
  }
  yield archiveEnd;
}

function* member(name: string, content: Buffer): Generator<Uint8Array> {
  yield memberHeader(name, content.length);
  yield content;
  yield paddingOf(content.length);
}
