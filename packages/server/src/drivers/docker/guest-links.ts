import type { GuestClient } from '@caisson/guest';
import type { InstanceKey } from '../driver.ts';
import type { AccountFiles } from './account-files.ts';
import { relayCommand } from './container-config.ts';
import type { Containers } from './containers.ts';
import { GuestLink, type Standing } from './guest-link.ts';
import { type InstanceNames, namesOf } from './instance-name.ts';
import type { SecretFile } from './secret-file.ts';

export interface GuestLinksOptions {
  readonly containers: Containers;
  readonly accounts: AccountFiles;
  secrets(names: InstanceNames): SecretFile;
  /** Its client is there; nothing has run inside yet, or nothing that is not known. */
  onGuest(key: InstanceKey, client: GuestClient): void;
  onEnded(key: InstanceKey): void;
}

/** The links to all guests, one for each instance. */
export class GuestLinks {
  readonly #options: GuestLinksOptions;
  readonly #links = new Map<string, GuestLink>();

  constructor(options: GuestLinksOptions) {
    this.#options = options;
  }

  get(names: InstanceNames): GuestLink | undefined {
    return this.#links.get(names.name);
  }

  /** The link to the guest of an instance that runs, opened when there is none. `isFresh`: nothing has run in it yet. */
  open(key: InstanceKey, { isFresh = false } = {}): GuestLink {
    const names = namesOf(key);
    const present = this.#links.get(names.name);
    if (present) return present;
    const { containers, accounts, secrets, onGuest, onEnded } = this.#options;
    let isChecked = isFresh;
    const link = new GuestLink({
      key,
      secrets: secrets(names),
      async dial(signal) {
        // Whatever runs inside may have laid a trap for the engine meanwhile.
        if (!isChecked) await accounts.require(names.container, signal);
        isChecked = false;
        return containers.exec(names.container, relayCommand(), signal);
      },
      look: (signal) => this.#standing(names, signal),
      onEnded: () => {
        if (this.#links.get(names.name) !== link) return;
        this.#links.delete(names.name);
        onEnded(key);
      },
    });
    this.#links.set(names.name, link);
    onGuest(key, link.client);
    link.start();
    return link;
  }

  /** Lets go of a guest, which lives on. */
  async drop(names: InstanceNames): Promise<void> {
    const link = this.#links.get(names.name);
    this.#links.delete(names.name);
    await link?.close();
  }

  async close(): Promise<void> {
    const links = [...this.#links.values()];
    this.#links.clear();
    await Promise.allSettled(links.map((link) => link.close()));
  }

  async #standing(names: InstanceNames, signal: AbortSignal): Promise<Standing> {
    const found = await this.#options.containers.inspect(names.container, signal);
    if (!found?.State.Running) return 'ended';
    return found.State.Paused ? 'paused' : 'running';
  }
}
