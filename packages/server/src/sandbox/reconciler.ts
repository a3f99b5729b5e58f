import { CaissonError, hasCode, type Id, type Sandbox } from '@caisson/contract';
import type { Driver, InstanceKey, Listing } from '../drivers/driver.ts';
import type { Store } from '../store/store.ts';
import { withDeadline } from './deadline.ts';
import type { Runner } from './runner.ts';
import type { Sandboxes } from './sandboxes.ts';
import { end, keyOf, type WorkContext } from './work.ts';

export interface Repair {
  readonly sandbox: string;
  readonly found: string;
  readonly did: 'adopted' | 'repaired' | 'reaped' | 'reported';
}

/** Small enough that a page never holds up a request, large enough that ten thousand take a few dozen of them. */
const pageSize = 500;

/**
 * Makes record and runtime agree. The same pass runs at start-up and every few seconds:
 *
 * 1. What is in a transient state, or was never begun, and is run by nobody, goes on from where it was.
 * 2. What should have an instance and has none is recorded as lost, with the reason. A backend that does not answer
 *    proves nothing.
 * 3. An instance that no record wants is ended: of a destroyed, stopped or failed sandbox, of an older incarnation, of a
 *    sandbox that the store has never heard of, or of nobody.
 * 4. What has outlived its lease is destroyed.
 */
export class Reconciler {
  readonly #work: WorkContext;
  readonly #store: Store;
  readonly #runner: Runner;
  readonly #sandboxes: Sandboxes;
  readonly #drivers: readonly Driver[];
  readonly #never = new AbortController().signal;

  constructor(work: WorkContext, runner: Runner, sandboxes: Sandboxes, drivers: readonly Driver[]) {
    this.#work = work;
    this.#store = work.store;
    this.#runner = runner;
    this.#sandboxes = sandboxes;
    this.#drivers = drivers;
  }

  /** One pass. Interrupted actions are begun again, not waited for; `settled` waits for them too. */
  async pass(): Promise<Repair[]> {
    const repairs: Repair[] = [];
    await this.#resume(repairs);
    for (const driver of this.#drivers) {
      const listing = await this.#list(driver);
      if (!listing) continue;
      await this.#findLost(driver, listing, repairs);
      await this.#reap(driver, listing, repairs);
    }
    await this.#expire();
    for (const repair of repairs) await this.#tell(repair);
    return repairs;
  }

  /** Passes until nothing is on its way; for start-up in tests and for a server that must not begin half-way. */
  async settled(): Promise<Repair[]> {
    const repairs = await this.pass();
    for (;;) {
      const open = await this.#store.sandboxes.unsettled(pageSize);
      const operations = open.flatMap((sandbox) => this.#runner.running(sandbox.id) ?? []);
      if (operations.length === 0 && open.length === 0) return repairs;
      if (operations.length === 0) repairs.push(...(await this.pass()));
      await Promise.allSettled(operations.map((operation) => operation.done));
    }
  }

  async #resume(repairs: Repair[]): Promise<void> {
    const open = await this.#store.sandboxes.unsettled(pageSize);
    for (const sandbox of open) {
      if (this.#runner.busy(sandbox.id)) continue;
      try {
        if (sandbox.state === 'requested') await this.#runner.begin(sandbox, 'create', 'provisioning');
        else if (!(await this.#runner.resume(sandbox.id))) continue;
        repairs.push({ sandbox: sandbox.id, found: `${sandbox.state} and nobody at work on it`, did: 'repaired' });
      } catch (error) {
        // A request took it up between the reading and the beginning.
        if (!hasCode(error, 'state_changed', 'sandbox_destroying', 'sandbox_destroyed')) throw error;
      }
    }
  }

  async #list(driver: Driver): Promise<Listing | undefined> {
    return withDeadline('listing', this.#work.deadlines.inspectMs, this.#never, (signal) => driver.list(signal)).catch(
      () => undefined,
    );
  }

  async #findLost(driver: Driver, listing: Listing, repairs: Repair[]): Promise<void> {
    const alive = new Set(listing.instances.filter((instance) => !instance.ended).map(({ key }) => nameOf(key)));
    for (let after = ''; ; ) {
      const page = await this.#store.sandboxes.settledWithInstance(after, pageSize);
      for (const sandbox of page) {
        if (sandbox.driver !== driver.name || alive.has(nameOf(keyOf(sandbox))) || this.#runner.busy(sandbox.id))
          continue;
        const found = await this.#lose(driver, sandbox);
        if (found) repairs.push({ sandbox: sandbox.id, found, did: 'repaired' });
      }
      const last = page.at(-1);
      if (!last || page.length < pageSize) return;
      after = last.id;
    }
  }

  async #lose(driver: Driver, sandbox: Sandbox): Promise<string | undefined> {
    const seen = await withDeadline('inspecting', this.#work.deadlines.inspectMs, this.#never, (signal) =>
      driver.inspect(keyOf(sandbox), signal),
    ).catch(() => undefined);
    if (seen?.status !== 'gone' && seen?.status !== 'ended') return undefined;
    const reason =
      seen.status === 'ended'
        ? { code: seen.reason, message: seen.message }
        : ({ code: 'instance_gone', message: 'its instance is no longer there' } as const);
    // It may have been stopped and started since it was read, and then be as good as new.
    const present = await this.#store.sandboxes.get(sandbox.id);
    if (present?.updatedAt !== sandbox.updatedAt || this.#runner.busy(sandbox.id)) return undefined;
    try {
      await this.#store.sandboxes.step(sandbox, { action: 'lose', end: 'success' }, { reason, endInstance: true });
    } catch (error) {
      if (error instanceof CaissonError) return undefined;
      throw error;
    }
    return reason.message;
  }

  async #reap(driver: Driver, listing: Listing, repairs: Repair[]): Promise<void> {
    for (const { key } of listing.instances) {
      if (!(await this.#isUnwanted(key))) continue;
      await this.#endInstance(driver, key, 'an instance that no record wants', repairs);
    }
    for (const { key } of listing.orphans) {
      if (key && !(await this.#isUnwanted(key))) continue;
      if (key) await this.#endInstance(driver, key, 'an instance without an owner', repairs);
    }
  }

  async #isUnwanted(key: InstanceKey): Promise<boolean> {
    if (this.#runner.busy(key.sandbox)) return false;
    const sandbox = await this.#store.sandboxes.get(key.sandbox);
    if (!sandbox) return true;
    if (sandbox.state === 'ready' || sandbox.state === 'paused') return sandbox.incarnation !== key.incarnation;
    return sandbox.state === 'destroyed' || sandbox.state === 'stopped' || sandbox.state === 'failed';
  }

  async #endInstance(driver: Driver, key: InstanceKey, found: string, repairs: Repair[]): Promise<void> {
    await end(this.#work, key, { driver: driver.name }, this.#never).then(
      () => repairs.push({ sandbox: key.sandbox, found, did: 'reaped' }),
      () => {},
    );
  }

  async #expire(): Promise<void> {
    for (const sandbox of await this.#store.sandboxes.expired(Date.now(), pageSize)) {
      if (this.#runner.running(sandbox.id)?.action === 'destroy') continue;
      await this.#sandboxes
        .end(sandbox, { code: 'expired', message: `its lease ended at ${sandbox.expiresAt}` }, 0)
        .catch(() => {});
    }
  }

  async #tell({ sandbox, found, did }: Repair): Promise<void> {
    await this.#store.sandboxes.note(sandbox as Id<'sandbox'>, 'caisson.sandbox.repair', { found, did });
  }
}

function nameOf(key: InstanceKey): string {
  return `${key.sandbox}.${key.incarnation}`;
}
