import { hasCode, type Id, type Sandbox, type WorkspaceBlueprint } from '@caisson/contract';
import type { Driver, InstanceKey, Listing } from '../drivers/driver.ts';
import type { Store } from '../store/store.ts';
import { withDeadline } from './deadline.ts';
import { eachInState, pageSize } from './each-in-state.ts';
import { end, haltOrEnd, keyOf } from './end.ts';
import type { Expiry } from './expiry.ts';
import { loseIfGone } from './lose.ts';
import type { Runner } from './runner.ts';
import type { SnapshotKeeper } from './travel/snapshot-keeper.ts';
import { isWanted, wantsFilesystem } from './wanted.ts';
import type { WorkContext } from './work-context.ts';

export interface Repair {
  readonly sandbox: string;
  readonly found: string;
  readonly did: 'adopted' | 'repaired' | 'reaped' | 'reported';
}

/**
 * Makes record and runtime agree. The same pass runs at start-up and every few seconds:
 *
 * 1. What is in a transient state, or was never begun, and is run by nobody, goes on from where it was.
 * 2. What should have an instance and has none is recorded as lost, with the reason. A backend that does not answer
 *    proves nothing.
 * 3. An instance that no record wants is ended: of a destroyed, stopped or failed sandbox, of another incarnation, of a
 *    sandbox that the store has never heard of, or of nobody. An orphan that cannot be named is reported.
 * 4. A root filesystem that no record wants is removed.
 * 5. A sandbox that should run and stands still, because its server was killed while it took a snapshot, goes on.
 * 6. Snapshots whose making or removing was cut short are removed.
 * 7. What has outlived its lease ends as its profile says.
 *
 * A pass looks at records and instances at different moments, while requests change both. So before it changes anything
 * it holds the sandbox, and looks again at the record.
 */
export class Reconciler {
  readonly #work: WorkContext;
  readonly #store: Store;
  readonly #runner: Runner;
  readonly #expiry: Expiry;
  readonly #keeper: SnapshotKeeper;
  readonly #drivers: readonly Driver[];
  readonly #abort = new AbortController();

  constructor(parts: {
    readonly work: WorkContext;
    readonly runner: Runner;
    readonly expiry: Expiry;
    readonly keeper: SnapshotKeeper;
    readonly drivers: readonly Driver[];
  }) {
    this.#work = parts.work;
    this.#store = parts.work.store;
    this.#runner = parts.runner;
    this.#expiry = parts.expiry;
    this.#keeper = parts.keeper;
    this.#drivers = parts.drivers;
  }

  /** Ends a pass that is under way, and every later one, soon. */
  stop(reason: Error): void {
    this.#abort.abort(reason);
  }

  /** Looks at one instance at once, because its driver says that it seems to have ended. */
  async look(key: InstanceKey): Promise<Repair | undefined> {
    const sandbox = await this.#store.sandboxes.get(key.sandbox);
    if (
      !sandbox ||
      sandbox.incarnation !== key.incarnation ||
      !isWanted(sandbox, key, sandbox.driver) ||
      sandbox.action
    )
      return undefined;
    const reason = await loseIfGone(this.#work, this.#runner, sandbox, this.#abort.signal);
    if (!reason) return undefined;
    const repair = { sandbox: sandbox.id, found: reason.message, did: 'repaired' } as const;
    await this.#tell(repair);
    return repair;
  }

  /** One pass. Interrupted actions are begun again, not waited for. */
  pass(): Promise<Repair[]> {
    return this.#work.spans.run('reconcile', {}, () => this.#pass());
  }

  async #pass(): Promise<Repair[]> {
    const repairs: Repair[] = [];
    await this.#resume(repairs);
    const inUse = new Set<string>();
    for (const driver of this.#drivers) {
      const listing = await this.#list(driver);
      if (!listing) continue;
      const wanted = await this.#findLost(driver, listing, repairs);
      if (driver.capabilities.storage === 'ours') for (const name of wanted) inUse.add(sandboxOf(name));
      await this.#reap(driver, listing, wanted, repairs);
    }
    await this.#reapFilesystems(inUse, repairs);
    await this.#expiry.pass(pageSize);
    repairs.push(...(await this.#keeper.pass(this.#abort.signal)));
    for (const repair of repairs) await this.#tell(repair);
    return repairs;
  }

  async #resume(repairs: Repair[]): Promise<void> {
    for (const sandbox of await this.#store.sandboxes.unsettled(pageSize)) {
      if (this.#runner.busy(sandbox.id)) continue;
      try {
        if (sandbox.state === 'requested') await this.#runner.begin(sandbox, 'create', await this.#entry(sandbox));
        else if (!(await this.#runner.resume(sandbox.id))) continue;
        repairs.push({ sandbox: sandbox.id, found: `${sandbox.state} and nobody at work on it`, did: 'repaired' });
      } catch (error) {
        // A request took it up between the reading and the beginning.
        if (!hasCode(error, 'state_changed', 'sandbox_destroying', 'sandbox_destroyed')) throw error;
      }
    }
  }

  /** The state with which the create of this record begins. */
  async #entry({ attempt: id }: Sandbox): Promise<'building' | 'provisioning'> {
    const attempt = id === null ? undefined : await this.#store.attempts.get(id);
    if (!attempt || attempt.fromSnapshot !== null || attempt.image !== null) return 'provisioning';
    const isBuilt = this.#work.imageChoice?.isBuilt(attempt.blueprint as WorkspaceBlueprint) ?? false;
    return isBuilt ? 'building' : 'provisioning';
  }

  async #list(driver: Driver): Promise<Listing | undefined> {
    const { inspectMs } = this.#work.deadlines;
    return withDeadline('listing', inspectMs, this.#abort.signal, (signal) => driver.list(signal)).catch(
      () => undefined,
    );
  }

  /** Answers the names of all instances that settled records want. */
  async #findLost(driver: Driver, listing: Listing, repairs: Repair[]): Promise<Set<string>> {
    const alive = new Set(listing.instances.filter((instance) => !instance.ended).map(({ key }) => nameOf(key)));
    const still = new Set(listing.instances.filter((instance) => instance.paused).map(({ key }) => nameOf(key)));
    const wanted = new Set<string>();
    for (const state of ['ready', 'paused'] as const) {
      for await (const sandbox of eachInState(this.#store, state, this.#abort.signal)) {
        // What another backend has of it is a try that failed there.
        if (sandbox.driver !== driver.name) continue;
        const name = nameOf(keyOf(sandbox));
        wanted.add(name);
        if (state === 'ready' && still.has(name))
          // What cannot be done now is tried again at the next pass.
          await this.#goOn(driver, sandbox, repairs).catch(() => {});
        if (alive.has(name)) continue;
        const reason = await loseIfGone(this.#work, this.#runner, sandbox, this.#abort.signal);
        if (reason) repairs.push({ sandbox: sandbox.id, found: reason.message, did: 'repaired' });
      }
    }
    return wanted;
  }

  /** Unless somebody is at it just now, and has let it stand still for a moment. */
  async #goOn(driver: Driver, sandbox: Sandbox, repairs: Repair[]): Promise<void> {
    const { stillness } = this.#work;
    if (stillness.isTaken(sandbox.id)) return;
    await stillness.take(sandbox.id, this.#abort.signal, async (signal) => {
      const present = await this.#store.sandboxes.get(sandbox.id);
      const seen = await driver.inspect(keyOf(sandbox), signal);
      if (present?.state !== 'ready' || seen.status !== 'paused') return;
      await withDeadline('resuming', this.#work.deadlines.endMs, signal, async (inner) =>
        driver.resume?.(keyOf(sandbox), inner),
      );
      repairs.push({ sandbox: sandbox.id, found: 'ready, and its processes stood still', did: 'repaired' });
    });
  }

  async #reap(driver: Driver, listing: Listing, wanted: ReadonlySet<string>, repairs: Repair[]): Promise<void> {
    const strangers = listing.instances.filter(({ key }) => !wanted.has(nameOf(key)));
    for (const { key } of strangers) await this.#endUnwanted(driver, key, 'an instance that no record wants', repairs);
    for (const { key, backendName } of listing.orphans) {
      if (key) await this.#endUnwanted(driver, key, 'an instance without an owner', repairs);
      else repairs.push({ sandbox: backendName, found: 'an instance without an owner or a name', did: 'reported' });
    }
  }

  async #endUnwanted(driver: Driver, key: InstanceKey, found: string, repairs: Repair[]): Promise<void> {
    await this.#runner.whileIdle(key.sandbox, async () => {
      const sandbox = await this.#store.sandboxes.get(key.sandbox);
      if (sandbox && isWanted(sandbox, key, driver.name)) return;
      const signal = this.#abort.signal;
      const isItsOwn = sandbox?.driver === driver.name && sandbox.incarnation === key.incarnation;
      const current = isItsOwn && sandbox.state !== 'destroyed';
      const ended = current
        ? haltOrEnd(this.#work, key, sandbox, signal)
        : end(this.#work, key, { driver: driver.name }, signal);
      // What cannot be ended now is tried again at the next pass.
      if (
        await ended.then(
          () => true,
          () => false,
        )
      )
        repairs.push({ sandbox: key.sandbox, found, did: 'reaped' });
    });
  }

  /** `inUse`: sandboxes that were just seen to want what they have; their records need not be read again. */
  async #reapFilesystems(inUse: ReadonlySet<string>, repairs: Repair[]): Promise<void> {
    const { filesystems } = this.#work;
    if (!filesystems) return;
    const { sandboxes } = await filesystems.storage.list(this.#abort.signal);
    for (const id of sandboxes.filter((one) => !inUse.has(one))) {
      const wanted = await this.#store.sandboxes.get(id);
      if (wantsFilesystem(wanted, this.#drivers)) continue;
      await this.#runner.whileIdle(id, async () => {
        if (wantsFilesystem(await this.#store.sandboxes.get(id), this.#drivers)) return;
        // What cannot be removed now is tried again at the next pass.
        const { endMs } = this.#work.deadlines;
        const removed = await withDeadline('removing the filesystem', endMs, this.#abort.signal, (inner) =>
          filesystems.remove(id, inner),
        ).then(
          () => true,
          () => false,
        );
        if (removed) repairs.push({ sandbox: id, found: 'a root filesystem that no record wants', did: 'reaped' });
      });
    }
  }

  async #tell({ sandbox, found, did }: Repair): Promise<void> {
    await this.#store.sandboxes.note(sandbox as Id<'sandbox'>, 'caisson.sandbox.repair', { found, did });
  }
}

function sandboxOf(name: string): string {
  return name.slice(0, name.indexOf('.'));
}

function nameOf(key: InstanceKey): string {
  return `${key.sandbox}.${key.incarnation}`;
}
