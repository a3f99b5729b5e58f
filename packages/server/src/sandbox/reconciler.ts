import { hasCode, type Sandbox, type WorkspaceBlueprint } from '@caisson/contract';
import type { Driver, InstanceKey, Listing } from '../drivers/driver.ts';
import type { Store } from '../store/store.ts';
import { Books } from './books.ts';
import { withDeadline } from './deadline.ts';
import { eachKeyInState, pageSize } from './each-in-state.ts';
import { keyOf } from './end.ts';
import type { Expiry } from './expiry.ts';
import { Grace } from './healing/grace.ts';
import { LeftFiles } from './healing/left-files.ts';
import { endLeftGroups } from './healing/left-groups.ts';
import { type Repair, RepairLog } from './healing/repair.ts';
import { instanceName, Unowned } from './healing/unowned.ts';
import { loseIfGone } from './lose.ts';
import type { Runner } from './runner.ts';
import type { SnapshotKeeper } from './travel/snapshot-keeper.ts';
import { isWanted } from './wanted.ts';
import type { WorkContext } from './work-context.ts';

/**
 * Makes record and runtime agree. The same pass runs at start-up and every few seconds:
 *
 * 1. What is in a transient state, or was never begun, and is run by nobody, goes on from where it was.
 * 2. What should have an instance and has none is recorded as lost, with the reason. A backend that does not answer
 *    proves nothing.
 * 3. An instance that its record does not want is ended: of a destroyed, stopped or failed sandbox, of another
 *    incarnation. One without a record gets it again from its papers; what is nobody's is told, and ended after a grace
 *    time. See `healing/unowned.ts`.
 * 4. A root filesystem that no record wants is removed, and so is what is left of instances that are not there any more.
 * 5. A sandbox that should run and stands still, because its server was killed while it took a snapshot, goes on.
 * 6. Snapshots whose making or removing was cut short are removed.
 * 7. What has outlived its lease ends as its profile says.
 * 8. What is counted against quotas, and held of credits, is what there is.
 *
 * Each repair is an event, with its kind.
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
  readonly #books: Books;
  readonly #grace: Grace;
  readonly #unowned: Unowned;
  readonly #files: LeftFiles;
  /** What was put right before there was a reconciler to tell it. */
  #recovered: readonly string[];
  readonly #abort = new AbortController();

  constructor(parts: {
    readonly work: WorkContext;
    readonly runner: Runner;
    readonly expiry: Expiry;
    readonly keeper: SnapshotKeeper;
    readonly drivers: readonly Driver[];
    /** Of what nobody owns. */
    readonly grace?: Grace | undefined;
    readonly recovered?: readonly string[];
  }) {
    this.#work = parts.work;
    this.#store = parts.work.store;
    this.#runner = parts.runner;
    this.#expiry = parts.expiry;
    this.#keeper = parts.keeper;
    this.#drivers = parts.drivers;
    this.#books = new Books(parts.work.store);
    this.#grace = parts.grace ?? new Grace();
    this.#unowned = new Unowned(parts.work, parts.runner);
    this.#files = new LeftFiles(parts.work, parts.runner, parts.drivers);
    this.#recovered = parts.recovered ?? [];
  }

  /** How long what nobody owns has been waiting for its end. */
  get grace(): Pick<Grace, 'secondsLeft'> {
    return this.#grace;
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
    const log = new RepairLog(this.#store);
    await log.tell({ kind: 'lost', sandbox: sandbox.id, found: reason.message, did: 'repaired' });
    return log.done[0];
  }

  /** One pass. Interrupted actions are begun again, not waited for. With `atOnce` nothing has a grace time. */
  pass({ atOnce = false }: { readonly atOnce?: boolean } = {}): Promise<Repair[]> {
    return this.#work.spans.run('reconcile', {}, () => this.#pass(atOnce));
  }

  async #pass(atOnce: boolean): Promise<Repair[]> {
    const log = new RepairLog(this.#store);
    await this.#tellRecovered(log);
    await this.#resume(log);
    const look = this.#grace.look();
    const inUse = new Set<string>();
    let isAllSeen = true;
    const pass = {
      log,
      grace: atOnce ? { ...look, see: () => 'over' as const } : look,
      graceSeconds: this.#grace.seconds,
      signal: this.#abort.signal,
      standing: new Set<string>(),
      rooms: new Set<string>(),
    };
    for (const driver of this.#drivers) {
      const isOurs = driver.capabilities.storage === 'ours';
      const listing = await this.#list(driver);
      if (!listing) {
        if (isOurs) isAllSeen = false;
        continue;
      }
      // What lists many has held everybody up already.
      await new Promise(setImmediate);
      const wanted = await this.#findLost(driver, listing, log);
      if (isOurs) for (const name of wanted) inUse.add(sandboxOf(name));
      await this.#unowned.pass(driver, listing, wanted, pass);
      await endLeftGroups(this.#work, this.#runner, driver, pass);
    }
    await this.#files.pass({ ...pass, inUse, isAllSeen });
    await this.#expiry.pass();
    const others = [...(await this.#keeper.pass(this.#abort.signal, pass.grace)), ...(await this.#books.pass())];
    for (const repair of others) await log.tell(repair);
    look.end();
    return log.done;
  }

  async #tellRecovered(log: RepairLog): Promise<void> {
    const recovered = this.#recovered;
    this.#recovered = [];
    for (const sandbox of recovered)
      await log.tell({
        kind: 'leftover',
        sandbox,
        found: 'what a killed server left half-made or mounted',
        did: 'reaped',
      });
  }

  async #resume(log: RepairLog): Promise<void> {
    for (const sandbox of await this.#store.sandboxes.unsettled(pageSize)) {
      if (this.#runner.busy(sandbox.id)) continue;
      try {
        if (sandbox.state === 'requested') await this.#runner.begin(sandbox, 'create', await this.#entry(sandbox));
        else if (!(await this.#runner.resume(sandbox.id))) continue;
        const found = `${sandbox.state} and nobody at work on it`;
        await log.tell({ kind: 'interrupted', sandbox: sandbox.id, found, did: 'repaired' });
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
  async #findLost(driver: Driver, listing: Listing, log: RepairLog): Promise<Set<string>> {
    const [alive, still] = [new Set<string>(), new Set<string>()];
    for (const { key, ended, paused } of listing.instances) {
      if (!ended) alive.add(instanceName(key));
      if (paused) still.add(instanceName(key));
    }
    const wanted = new Set<string>();
    for (const state of ['ready', 'paused'] as const) {
      for await (const { id, incarnation, driver: at } of eachKeyInState(this.#store, state, this.#abort.signal)) {
        // What another backend has of it is a try that failed there.
        if (at !== driver.name) continue;
        const name = instanceName({ sandbox: id, incarnation });
        wanted.add(name);
        const isStill = state === 'ready' && still.has(name);
        if (alive.has(name) && !isStill) continue;
        const sandbox = await this.#store.sandboxes.get(id);
        if (sandbox?.state !== state || sandbox.incarnation !== incarnation) continue;
        // What cannot be done now is tried again at the next pass.
        if (isStill) await this.#goOn(driver, sandbox, log).catch(() => {});
        if (alive.has(name)) continue;
        const reason = await loseIfGone(this.#work, this.#runner, sandbox, this.#abort.signal);
        if (reason) await log.tell({ kind: 'lost', sandbox: id, found: reason.message, did: 'repaired' });
      }
    }
    return wanted;
  }

  /** Unless somebody is at it just now, and has let it stand still for a moment. */
  async #goOn(driver: Driver, sandbox: Sandbox, log: RepairLog): Promise<void> {
    const { stillness } = this.#work;
    if (stillness.isTaken(sandbox.id)) return;
    await stillness.take(sandbox.id, this.#abort.signal, async (signal) => {
      const present = await this.#store.sandboxes.get(sandbox.id);
      const seen = await driver.inspect(keyOf(sandbox), signal);
      if (present?.state !== 'ready' || seen.status !== 'paused') return;
      await withDeadline('resuming', this.#work.deadlines.endMs, signal, async (inner) =>
        driver.resume?.(keyOf(sandbox), inner),
      );
      const found = 'ready, and its processes stood still';
      await log.tell({ kind: 'frozen', sandbox: sandbox.id, found, did: 'repaired' });
    });
  }
}

function sandboxOf(name: string): string {
  return name.slice(0, name.indexOf('.'));
}
