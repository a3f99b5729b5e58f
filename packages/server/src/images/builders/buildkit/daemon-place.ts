import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { CaissonError } from '@caisson/contract';
import { connectTo, type Endpoint, endpointText } from '../../../drivers/docker/endpoint.ts';
import { ownImages } from '../../../drivers/driver.ts';
import type { BaseImage } from '../../images.ts';
import { composeImage } from '../../oci/compose-image.ts';
import { mediaTypes } from '../../oci/documents.ts';
import type { Packer } from '../../pack/packer.ts';
import type { BroughtBase, BuildPlace } from './build-place.ts';
import type { SessionBlob } from './session/blob-store.ts';

/** What the base is called in a Containerfile, and the store that it is in. */
const baseName = 'caisson-base';

/**
 * A buildkitd. It keeps no images by name: the base is offered as a store of content, of which it reads what it does not
 * have, and the result is sent back as an archive. Such stores it knows since 0.11.
 */
export class DaemonPlace implements BuildPlace {
  readonly where: string;
  readonly exporter = 'docker';
  readonly fix = 'Start buildkitd, or correct its address: --buildkit-host or BUILDKIT_HOST.';
  readonly #endpoint: Endpoint;
  readonly #packer: Packer;

  constructor(endpoint: Endpoint, packer: Packer) {
    if (endpoint.kind === 'ssh')
      throw new CaissonError('request_invalid', 'a buildkitd is reached by `unix:///path` or `tcp://host:port`');
    this.where = endpointText(endpoint);
    this.#endpoint = endpoint;
    this.#packer = packer;
  }

  /** Whether anybody is there is found out by the first call. */
  async connect(_signal: AbortSignal): Promise<Duplex> {
    const stream = connectTo(this.#endpoint, []);
    stream.on('error', () => {});
    return stream;
  }

  async bring(base: BaseImage, signal: AbortSignal): Promise<BroughtBase> {
    const layers = [];
    for (const folder of base.layers) layers.push({ folder, ...(await this.#packer.measureLayer(folder, signal)) });
    const packed = layers.map(({ digest, size }) => ({ diffId: digest, digest, size, mediaType: mediaTypes.ociLayer }));
    const { manifest, digest, config, configDigest } = composeImage(base, packed);
    return {
      lines: [`FROM ${baseName}`],
      entries: [],
      layerCount: layers.length,
      // A base from a store is counted and has no number itself.
      firstStep: 1,
      attributes: { [`context:${baseName}`]: `oci-layout://${baseName}@${digest}` },
      blobs: [
        made(digest, manifest),
        made(configDigest, config),
        ...layers.map(({ folder, digest: name, size }) => {
          return { digest: name, size, open: (over: AbortSignal) => this.#packer.open(folder, over) };
        }),
      ],
    };
  }

  newName(): string {
    return `${ownImages}build:${randomBytes(12).toString('hex')}`;
  }

  /** It came with the end of the build. */
  async collect(): Promise<void> {}

  async discard(): Promise<void> {}

  close(): void {}
}

function made(digest: string, bytes: Buffer): SessionBlob {
  const open = async function* () {
    yield bytes;
  };
  return { digest, size: bytes.length, open };
}
