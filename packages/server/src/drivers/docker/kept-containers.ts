import { environmentLabel } from './container-config.ts';
import type { Containers } from './containers.ts';
import type { Container } from './engine-answers.ts';
import type { EngineSnapshots, NamedImage } from './engine-snapshots.ts';
import type { InstanceNames } from './instance-name.ts';

/** What an instance goes on from: the container that it was, or an image of its files. */
export type Kept = { readonly container: Container } | { readonly image: NamedImage };

/** Instances at rest: a container without processes, whose name says that it is none, or an image after a rollback. */
export class KeptContainers {
  readonly #containers: Containers;
  readonly #snapshots: EngineSnapshots;

  constructor(containers: Containers, snapshots: EngineSnapshots) {
    this.#containers = containers;
    this.#snapshots = snapshots;
  }

  /** Ends its processes; its name says from then on that it is no instance. */
  async keep(names: InstanceNames, signal: AbortSignal): Promise<void> {
    if (!(await this.#containers.inspect(names.container, signal))) return;
    await this.#containers.stop(names.container, signal);
    await this.#containers.rename(names.container, names.kept, signal);
  }

  /**
   * What was kept, at rest and under its own name; undefined when nothing was. A container has the environment that it was
   * made with for good: for another one its files become an image, and it goes.
   */
  async take(
    names: InstanceNames,
    present: Container | undefined,
    environment: string,
    signal: AbortSignal,
  ): Promise<Kept | undefined> {
    if (present) await this.#containers.stop(names.container, signal);
    else if (await this.#containers.inspect(names.kept, signal))
      await this.#containers.rename(names.kept, names.container, signal);
    const container = await this.#containers.inspect(names.container, signal);
    if (container?.Config?.Labels?.[environmentLabel] === environment) return { container };
    if (container) {
      await this.#snapshots.keepFiles(names, container.Id, signal);
      await this.#containers.remove(names.container, signal);
    }
    const image = await this.#snapshots.keptImage(names, signal);
    return image && { image };
  }
}
