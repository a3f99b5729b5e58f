import type { Id } from '@caisson/contract';
import type { Driver, Snapshotting } from '../../drivers/driver.ts';
import { within } from '../../drivers/within.ts';
import type { Storage } from '../../storage/storage.ts';
import type { GraceLook } from '../healing/grace.ts';
import type { Repair } from '../healing/repair.ts';
import type { WorkContext } from '../work-context.ts';
import { isSnapshotting } from './snapshot-storage.ts';
import type { Snapshots } from './snapshots.ts';

/** Enough for one pass; what is left is found by the next. */
const pageSize = 200;
/** How long a pass waits for removals; longer ones go on beside it. */
const patienceMs = 1_000;

/**
 * Makes the record of snapshots and what storage has agree. What a killed server was making or removing goes, files and
 * record; so do files that no record knows, and what forks have begun from.
 */
export class SnapshotKeeper {
  readonly #work: WorkContext;
  readonly #snapshots: Snapshots;
  readonly #removing = new Set<Promise<void>>();
  readonly #unseen: Set<Driver & Snapshotting>;
  #lookedForStrays = false;

  constructor(work: WorkContext, snapshots: Snapshots, drivers: readonly Driver[] = []) {
    this.#work = work;
    this.#snapshots = snapshots;
    this.#unseen = new Set(drivers.filter(isSnapshotting));
  }

  /** Where there is no record at all, the whole of it may be lost: such files have the grace time too. */
  async pass(signal: AbortSignal, grace: Pick<GraceLook, 'see'> = { see: () => 'over' }): Promise<Repair[]> {
    const { store, filesystems } = this.#work;
    const repairs: Repair[] = [];
    for (const { id, sandbox, state } of await store.snapshots.unfinished(pageSize)) {
      this.#remove(id, sandbox, `the snapshot ${id} was ${state} and nobody at work on it`, repairs);
    }
    for (const { id } of await store.snapshots.forks(pageSize)) {
      if (this.#snapshots.isAtWork(id) || (await store.snapshots.isInUse(id))) continue;
      this.#remove(id, undefined, '', repairs);
    }
    if (!this.#lookedForStrays && filesystems) await this.#removeStrays(filesystems.storage, repairs, grace, signal);
    await this.#removeStraysOfBackends(repairs, grace, signal);
    // Somebody who reads one keeps its files; nobody else waits for that.
    await within(Promise.all(this.#removing), patienceMs);
    return repairs.splice(0);
  }

  /** Every file has its record first, so what has none is older than this server: one look is enough. */
  async #removeStrays(
    storage: Storage,
    repairs: Repair[],
    grace: Pick<GraceLook, 'see'>,
    signal: AbortSignal,
  ): Promise<void> {
    let isWaiting = false;
    for (const id of (await storage.list(signal)).snapshots) {
      if (this.#snapshots.isAtWork(id) || (await this.#work.store.snapshots.get(id))) continue;
      if (waits(id, grace, repairs)) {
        isWaiting = true;
        continue;
      }
      this.#remove(id, id, `the snapshot ${id} has files and no record`, repairs);
    }
    this.#lookedForStrays = !isWaiting;
  }

  /** The same where a backend keeps them. One that does not answer now is looked at another time. */
  async #removeStraysOfBackends(repairs: Repair[], grace: Pick<GraceLook, 'see'>, signal: AbortSignal): Promise<void> {
    for (const driver of this.#unseen) {
      const found = await driver.listSnapshots(signal).catch(() => undefined);
      if (!found) continue;
      this.#unseen.delete(driver);
      for (const id of found) {
        if (this.#snapshots.isAtWork(id) || (await this.#work.store.snapshots.get(id))) continue;
        if (waits(id, grace, repairs)) {
          this.#unseen.add(driver);
          continue;
        }
        await driver.removeSnapshot(id, signal).catch(() => {});
        repairs.push({
          kind: 'snapshot',
          sandbox: id,
          found: `the snapshot ${id} has files and no record`,
          did: 'reaped',
        });
      }
    }
  }

  /** Begins it; one that cannot be removed now is tried again at a later pass. */
  #remove(id: Id<'snapshot'>, subject: string | undefined, found: string, repairs: Repair[]): void {
    if (this.#snapshots.isAtWork(id)) return;
    const removing = this.#snapshots
      .discard(id)
      .catch(() => false)
      .then((removed) => {
        this.#removing.delete(removing);
        if (removed && subject !== undefined)
          repairs.push({ kind: 'snapshot', sandbox: subject, found, did: 'reaped' });
      });
    this.#removing.add(removing);
  }
}

/** Whether its grace time is not over; what is seen for the first time is told. */
function waits(id: Id<'snapshot'>, grace: Pick<GraceLook, 'see'>, repairs: Repair[]): boolean {
  const seen = grace.see(`snapshot ${id}`);
  const found = `the snapshot ${id} has files and no record; it is removed after the grace time`;
  if (seen === 'new') repairs.push({ kind: 'snapshot', sandbox: id, found, did: 'reported' });
  return seen !== 'over';
}
