import { CaissonError, type Id, isId } from '@caisson/contract';
import { ownImages } from '../driver.ts';
import { diskLabel } from './container-config.ts';
import type { Containers } from './containers.ts';
import type { Container } from './engine-answers.ts';
import type { EngineImages } from './engine-images.ts';
import type { InstanceNames } from './instance-name.ts';

const snapshots = `${ownImages}snapshot`;
const kept = `${ownImages}kept`;
const removed = `${ownImages}removed`;

/** Where nobody said. As much as a sandbox gets of a disk elsewhere, a few times over. */
const unlimitedMiB = 65_536;

/** An image of ours, with the environment of the container that it was. */
export interface NamedImage {
  readonly reference: string;
  readonly env: Readonly<Record<string, string>>;
}

/** What an engine calls the image of a snapshot. */
export function snapshotImage(snapshot: Id<'snapshot'>): string {
  return `${snapshots}:${snapshot}`;
}

/**
 * Snapshots as images of the engine, each the commit of a container. An image that containers still stand on cannot go:
 * it is renamed to one that was removed, and goes with the last of them.
 */
export class EngineSnapshots {
  readonly #images: EngineImages;
  readonly #containers: Containers;
  readonly #installation: string;

  constructor(images: EngineImages, containers: Containers, installation: string) {
    this.#images = images;
    this.#containers = containers;
    this.#installation = installation;
  }

  async take(names: InstanceNames, snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<void> {
    const found =
      (await this.#containers.inspect(names.container, signal)) ?? (await this.#containers.inspect(names.kept, signal));
    if (!found) throw new CaissonError('instance_lost', `there is no instance ${names.name}`);
    await this.#requireKeepable(found, signal);
    await this.#images.commit(found.Id, { repo: snapshots, tag: snapshot }, signal);
  }

  /** From now on the instance begins from the snapshot, when it begins from what was kept. */
  async keep(names: InstanceNames, snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<void> {
    const target = { repo: kept, tag: names.name };
    if (!(await this.#images.tag(snapshotImage(snapshot), target, signal))) throw missing(snapshot);
  }

  /** The same from the files that a container has now. */
  async keepFiles(names: InstanceNames, container: string, signal: AbortSignal): Promise<void> {
    await this.forgetKept(names, signal);
    await this.#images.commit(container, { repo: kept, tag: names.name }, signal);
  }

  /** What `keep` or `keepFiles` said; undefined when they said nothing. */
  keptImage(names: InstanceNames, signal: AbortSignal): Promise<NamedImage | undefined> {
    return this.#find(`${kept}:${names.name}`, signal);
  }

  async forgetKept(names: InstanceNames, signal: AbortSignal): Promise<void> {
    await this.#retire(kept, names.name, signal);
  }

  async require(snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<NamedImage> {
    const found = await this.#find(snapshotImage(snapshot), signal);
    if (!found) throw missing(snapshot);
    return found;
  }

  async remove(snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<void> {
    await this.#retire(snapshots, snapshot, signal);
  }

  async list(signal: AbortSignal): Promise<Id<'snapshot'>[]> {
    const tags = await this.#images.tags(snapshots, `caisson.installation=${this.#installation}`, signal);
    return tags.filter((tag): tag is Id<'snapshot'> => isId('snapshot', tag));
  }

  /** Removes what nothing stands on any more. */
  async sweep(signal: AbortSignal): Promise<void> {
    const tags = await this.#images.tags(removed, `caisson.installation=${this.#installation}`, signal);
    for (const tag of tags) await this.#images.remove(`${removed}:${tag}`, signal);
  }

  async #requireKeepable({ Id, HostConfig, Config }: Container, signal: AbortSignal): Promise<void> {
    // Its workspace lies in a volume, which no commit has: a snapshot without it would be taken for one with it.
    if (HostConfig?.ReadonlyRootfs)
      throw new CaissonError(
        'snapshots_not_available',
        'an engine takes no snapshots of a sandbox with a read-only root',
        {
          hint: 'Copy its workspace with `caisson cp`, or make it on `oci`, where snapshots have it.',
        },
      );
    // An engine writes out what a file claims to be: one of a tebibyte with nothing in it would fill its disk.
    const mostMiB = Number(Config?.Labels?.[diskLabel] || unlimitedMiB);
    const bytes = (await this.#containers.ownBytes(Id, signal)) ?? 0;
    // So it says when it could not look everywhere: below a path that is too long there may be anything.
    if (bytes < 0)
      throw new CaissonError('driver_failed', 'the engine cannot tell how large its files are: no snapshot is taken');
    if (bytes <= mostMiB * 1024 ** 2) return;
    const what = `its files are ${Math.ceil(bytes / 1024 ** 2)} MiB long, and ${mostMiB} MiB are kept`;
    throw new CaissonError('disk_quota_exceeded', `${what}: no snapshot is taken`);
  }

  async #find(reference: string, signal: AbortSignal): Promise<NamedImage | undefined> {
    const found = await this.#images.find(reference, signal);
    return found && { reference, env: found.env };
  }

  async #retire(repo: string, tag: string, signal: AbortSignal): Promise<void> {
    const image = `${repo}:${tag}`;
    if (await this.#images.remove(image, signal)) return;
    await this.#images.tag(image, { repo: removed, tag }, signal);
    await this.#images.remove(image, signal);
  }
}

function missing(snapshot: Id<'snapshot'>): CaissonError {
  return new CaissonError('snapshot_not_found', `the engine has no snapshot ${snapshot}`);
}
