import type { Id, RepairData } from '@caisson/contract';
import type { Store } from '../../store/store.ts';

export interface Repair extends RepairData {
  /** What it is about: a sandbox, or whatever the backend calls it. */
  readonly sandbox: string;
  /** The backend that had it. */
  readonly driver?: string;
}

/** A name that a backend gives may be as long as it likes. */
const maxName = 256;

/** The repairs of one pass. Each is told as soon as it is done: a server that is killed later has told it. */
export class RepairLog {
  readonly done: Repair[] = [];
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** As an event of its sandbox, or of the installation where there is no record of one. */
  async tell(repair: Repair): Promise<void> {
    this.done.push(repair);
    const { kind, found: text, did, driver = null } = repair;
    const found = text.slice(0, 1024);
    // It is counted and put right in one transaction, with an event of its own.
    if (kind === 'quota') return;
    const id = repair.sandbox as Id<'sandbox'>;
    if (await this.#store.sandboxes.get(id))
      return this.#store.sandboxes.note(id, 'caisson.sandbox.repair', { kind, found, did });
    await this.#store.hostRepairs.tell({ kind, found, did, driver, name: repair.sandbox.slice(0, maxName) });
  }
}
