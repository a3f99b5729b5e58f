import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { CaissonError } from '@caisson/contract';
import { connectTo, type Endpoint, endpointText } from '../../../drivers/docker/endpoint.ts';
import { ownImages } from '../../../drivers/driver.ts';
import type { BaseImage } from '../../images.ts';
import type { Packer } from '../../pack/packer.ts';
import { archiveLines, baseArchive } from '../../plan/containerfile.ts';
import type { BroughtBase, BuildPlace } from './build-place.ts';

/**
 * A buildkitd. It keeps no images: the base is sent with the context, which it keeps by its content, and the result is
 * sent back as an archive.
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
    const [layer, ...more] = base.layers;
    if (layer === undefined || more.length > 0)
      throw new CaissonError(
        'unsupported-runtime-requirement',
        `the base ${base.name} has ${base.layers.length} layers, and a buildkitd can be given one`,
        { hint: 'Build it with a Docker engine or the native builder: `--builder native`.' },
      );
    const { size } = await this.#packer.measureLayer(layer, signal);
    const read = () => this.#packer.open(layer, signal);
    const archive = { path: baseArchive, kind: 'file' as const, mode: 0o644, size, read };
    return { lines: archiveLines, entries: [archive], layerCount: 1 };
  }

  newName(): string {
    return `${ownImages}build:${randomBytes(12).toString('hex')}`;
  }

  /** It came with the end of the build. */
  async collect(): Promise<void> {}

  async discard(): Promise<void> {}

  close(): void {}
}
