import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Engine } from '../../../drivers/docker/engine.ts';
import { EngineImages } from '../../../drivers/docker/engine-images.ts';
import { ownImages } from '../../../drivers/driver.ts';
import type { BaseImage } from '../../images.ts';
import { engineArchive, engineTag } from '../../pack/engine-archive.ts';
import type { Packer } from '../../pack/packer.ts';
import { SharedWork } from '../../shared-work.ts';
import type { BroughtBase, BuildPlace, BuildResult } from './build-place.ts';

/** An engine that has nothing to say about an image for so long is not going to. */
const saveMs = 120_000;
/** Nobody should wait long for an engine that may have gone away. */
const discardMs = 3_000;

/**
 * The BuildKit in a Docker engine. A base is loaded once and begun from by its name, so the engine asks no registry; the
 * result is an image of the engine until it is taken out.
 */
export class EnginePlace implements BuildPlace {
  readonly where: string;
  readonly exporter = 'moby';
  readonly fix = 'Start a Docker engine (apt-get install docker.io), or name its address with --docker-host.';
  readonly #engine: Engine;
  readonly #images: EngineImages;
  readonly #packer: Packer;
  readonly #repository: string;
  readonly #loading = new SharedWork<void>();
  readonly #building = new Set<string>();
  #hasSwept = false;

  constructor(engine: Engine, packer: Packer, installation: string) {
    this.where = engine.where;
    this.#engine = engine;
    this.#images = new EngineImages(engine, installation);
    this.#packer = packer;
    this.#repository = `${ownImages}build-${installation.toLowerCase()}`;
  }

  connect(signal: AbortSignal): Promise<Duplex> {
    return this.#engine.upgrade('/grpc', { signal }, 'h2c');
  }

  async bring(base: BaseImage, signal: AbortSignal, progress: (line: string) => void): Promise<BroughtBase> {
    await this.#sweep(signal);
    const from = engineTag(base.digest);
    if (!(await this.#images.has(from, signal))) {
      await this.#loading.run(from, { signal, progress }, async (shared, tell) => {
        tell(`giving ${base.name} to the engine`);
        await this.#images.load(engineArchive(base, from, this.#packer, shared), shared);
      });
    }
    return { lines: [`FROM ${from}`], entries: [], layerCount: base.layers.length };
  }

  newName(): string {
    const build = randomBytes(12).toString('hex');
    this.#building.add(build);
    return `${this.#repository}:${build}`;
  }

  async collect({ name, file }: BuildResult, signal: AbortSignal): Promise<void> {
    const path = `/images/${encodeURIComponent(name)}/get`;
    const archive = await this.#engine.download(path, { signal, withinMs: saveMs });
    await pipeline(archive, createWriteStream(file, { mode: 0o600 }), { signal });
  }

  /** By then nobody waits for it any more, whatever became of the build. */
  async discard(name: string): Promise<void> {
    await this.#images.remove(name, AbortSignal.timeout(discardMs)).catch(() => {});
    this.#building.delete(name.slice(this.#repository.length + 1));
  }

  close(): void {
    this.#engine.close();
  }

  /** What a killed server left of its results. */
  async #sweep(signal: AbortSignal): Promise<void> {
    if (this.#hasSwept) return;
    const tags = await this.#images.tags(this.#repository, undefined, signal);
    for (const tag of tags) {
      if (!this.#building.has(tag)) await this.#images.remove(`${this.#repository}:${tag}`, signal);
    }
    this.#hasSwept = true;
  }
}
