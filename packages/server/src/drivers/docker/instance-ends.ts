import type { Containers } from './containers.ts';
import type { EngineSnapshots } from './engine-snapshots.ts';
import type { GuestLinks } from './guest-links.ts';
import type { InstanceNames } from './instance-name.ts';
import type { KeptContainers } from './kept-containers.ts';
import type { SecretFile } from './secret-file.ts';
import type { WorkspaceVolumes } from './workspace-volume.ts';

export interface InstanceParts {
  readonly containers: Containers;
  readonly snapshots: EngineSnapshots;
  readonly kept: KeptContainers;
  readonly workspaces: WorkspaceVolumes;
  readonly links: GuestLinks;
  secrets(names: InstanceNames): SecretFile;
}

/** The ways in which an instance ends, each in an order in which it can be done again from the start at any point. */
export class InstanceEnds {
  readonly #parts: InstanceParts;

  constructor(parts: InstanceParts) {
    this.#parts = parts;
  }

  /** Nothing of it is left. */
  async remove(names: InstanceNames, signal: AbortSignal): Promise<void> {
    const { snapshots, workspaces } = this.#parts;
    await this.removeContainers(names, signal);
    await snapshots.forgetKept(names, signal);
    await workspaces.remove(names, signal);
  }

  /** What was kept for it as an image stays. */
  async removeContainers(names: InstanceNames, signal: AbortSignal): Promise<void> {
    const { containers, secrets, links, snapshots } = this.#parts;
    await containers.remove(names.container, signal);
    await containers.remove(names.kept, signal);
    secrets(names).remove();
    await links.drop(names);
    // What was removed while something stood on it can go now; if not, another time.
    await snapshots.sweep(signal).catch(() => {});
  }

  /** Its processes end, and its files stay. */
  async keep(names: InstanceNames, signal: AbortSignal): Promise<void> {
    const { kept, secrets, links } = this.#parts;
    await kept.keep(names, signal);
    secrets(names).remove();
    await links.drop(names);
  }
}
