import {
  CaissonError,
  type Id,
  type ReapReport,
  type Sandbox,
  type StaleItem,
  type StaleReport,
} from '@caisson/contract';
import type { Driver, Listing } from '../drivers/driver.ts';
import { within } from '../drivers/within.ts';
import type { Store } from '../store/store.ts';
import { type Caller, canSee, isOperator } from '../tenancy/caller.ts';
import { withDeadline } from './deadline.ts';
import { eachInState } from './each-in-state.ts';
import { keyOf } from './end.ts';
import { filesGraceName } from './healing/left-files.ts';
import { graceName, instanceName } from './healing/unowned.ts';
import type { Reconciler } from './reconciler.ts';
import type { Runner } from './runner.ts';
import type { Sandboxes } from './sandboxes.ts';
import { isWanted, wantsFilesystem } from './wanted.ts';
import type { WorkContext } from './work-context.ts';

/** How long a reaper waits for what it began. */
const settleMs = 10_000;
/** More than anybody reads at once; what is left is there the next time. */
const maxItems = 500;

export interface StaleContext {
  readonly work: WorkContext;
  readonly runner: Runner;
  readonly sandboxes: Sandboxes;
  readonly reconciler: Reconciler;
  readonly drivers: readonly Driver[];
}

/**
 * What is left over: what record, backends and storage disagree about, and sandboxes of a great age. Looking changes
 * nothing. The first kinds are ended by a pass of the reconciler, in its own ways; old sandboxes are somebody's, and are
 * ended only for whoever says how old, and only those of their own tenant.
 */
export class Stale {
  readonly #context: StaleContext;
  readonly #store: Store;

  constructor(context: StaleContext) {
    this.#context = context;
    this.#store = context.work.store;
  }

  async find(caller: Caller, agedSeconds: number, isAgedReapable = false): Promise<StaleReport> {
    const items: StaleItem[] = [];
    const unseen: { driver: string; why: string }[] = [];
    const signal = AbortSignal.timeout(this.#context.work.deadlines.endMs);
    for (const driver of this.#context.drivers) {
      try {
        const { inspectMs } = this.#context.work.deadlines;
        const listing = await withDeadline('listing', inspectMs, signal, (inner) => driver.list(inner));
        items.push(...(await this.#instances(driver, listing)), ...(await this.#lost(driver, listing, signal)));
      } catch (error) {
        unseen.push({ driver: driver.name, why: error instanceof CaissonError ? error.message : 'it did not answer' });
      }
    }
    items.push(...(await this.#unsettled()), ...(await this.#directories(signal)));
    items.push(...(await this.#aged(caller, agedSeconds, isAgedReapable)));
    const isShown = ({ owner }: StaleItem) => owner === null || isOperator(caller) || canSee(caller, owner);
    return { items: items.filter(isShown).slice(0, maxItems), unseen };
  }

  async reap(caller: Caller, asked: { apply: boolean; agedSeconds?: number | undefined }): Promise<ReapReport> {
    const aged = asked.agedSeconds ?? Number.POSITIVE_INFINITY;
    const found = await this.find(caller, aged, true);
    if (!asked.apply)
      return { ...found, applied: false, items: found.items.map((item) => ({ ...item, reaped: false })) };
    // Whoever runs the machine need not wait; what others may end has its grace time.
    await this.#context.reconciler.pass({ atOnce: isOperator(caller) });
    for (const { kind, name } of found.items) if (kind === 'aged-sandbox') await this.#end(name);
    // What was begun again need not end now: then it is not stale any more.
    await within(this.#context.runner.idle(), settleMs);
    const left = new Set((await this.find(caller, aged, true)).items.map(identity));
    return {
      ...found,
      applied: true,
      items: found.items.map((item) => ({ ...item, reaped: item.reapable && !left.has(identity(item)) })),
    };
  }

  async #end(id: string): Promise<void> {
    const sandbox = await this.#store.sandboxes.get(id);
    if (!sandbox) return;
    const reason = { code: 'requested', message: 'reaped: it was older than somebody wanted' } as const;
    // What cannot be destroyed is told as not reaped, and its record says why.
    await this.#context.sandboxes.end(sandbox, reason, 60).catch(() => {});
  }

  async #instances(driver: Driver, { instances, orphans }: Listing): Promise<StaleItem[]> {
    const items: StaleItem[] = [];
    const add = (name: string, sandbox: Sandbox | undefined, detail: string, reapable: boolean) =>
      items.push({
        kind: 'orphan-instance',
        name,
        driver: driver.name,
        owner: sandbox?.owner ?? null,
        detail,
        reapable,
      });
    for (const { key } of instances) {
      const sandbox = await this.#store.sandboxes.get(key.sandbox);
      if (this.#context.runner.busy(key.sandbox) || (sandbox && isWanted(sandbox, key, driver.name))) continue;
      add(
        instanceName(key),
        sandbox,
        sandbox
          ? `its sandbox is ${sandbox.state} and does not want it`
          : `no record of it${this.#ends(graceName(driver.name, key))}`,
        true,
      );
    }
    for (const { backendName, key } of orphans) {
      if (key && this.#context.runner.busy(key.sandbox)) continue;
      add(
        backendName,
        undefined,
        key
          ? `an instance without an owner${this.#ends(graceName(driver.name, key))}`
          : 'it has neither owner nor name',
        key !== undefined,
      );
    }
    return items;
  }

  /** Records that say that something runs, where the backend says that nothing does. */
  async #lost(driver: Driver, { instances }: Listing, signal: AbortSignal): Promise<StaleItem[]> {
    const alive = new Set(instances.filter(({ ended }) => !ended).map(({ key }) => instanceName(key)));
    const items: StaleItem[] = [];
    for (const state of ['ready', 'paused'] as const) {
      for await (const sandbox of eachInState(this.#store, state, signal)) {
        if (sandbox.driver !== driver.name || alive.has(instanceName(keyOf(sandbox)))) continue;
        const { status } = await driver.inspect(keyOf(sandbox), signal);
        if (status === 'running' || status === 'paused' || status === 'unknown') continue;
        items.push(zombie(sandbox, `${state}, and its instance is ${status}`));
      }
    }
    return items;
  }

  async #unsettled(): Promise<StaleItem[]> {
    const { runner } = this.#context;
    const unsettled = await this.#store.sandboxes.unsettled(maxItems);
    return unsettled
      .filter(({ id }) => !runner.busy(id))
      .map((sandbox) => zombie(sandbox, `${sandbox.state}, and nobody is at work on it`));
  }

  async #directories(signal: AbortSignal): Promise<StaleItem[]> {
    const { work, runner, drivers } = this.#context;
    if (!work.filesystems) return [];
    const { sandboxes, snapshots } = await work.filesystems.storage.list(signal);
    const items: StaleItem[] = [];
    const add = (name: string, detail: string, reapable: boolean) =>
      items.push({ kind: 'orphan-directory', name, driver: null, owner: null, detail, reapable });
    for (const id of sandboxes) {
      if (runner.busy(id) || wantsFilesystem(await this.#store.sandboxes.get(id), drivers)) continue;
      add(id, `a root filesystem that no record wants${this.#ends(filesGraceName(id))}`, true);
    }
    for (const id of snapshots)
      if (!(await this.#store.snapshots.get(id as Id<'snapshot'>))) add(id, 'a snapshot that no record knows', false);
    return items;
  }

  #ends(name: string): string {
    const left = this.#context.reconciler.grace.secondsLeft(name);
    return left === undefined ? '' : `; it is ended in ${Math.ceil(left)} s`;
  }

  async #aged(caller: Caller, agedSeconds: number, reapable: boolean): Promise<StaleItem[]> {
    if (!Number.isFinite(agedSeconds)) return [];
    const tenant = isOperator(caller) ? undefined : caller.owner.tenant;
    const old = await this.#store.sandboxes.aged(Date.now() - agedSeconds * 1000, maxItems, tenant);
    return old.map(({ id, driver, owner, state, createdAt }) => ({
      kind: 'aged-sandbox',
      name: id,
      driver,
      owner,
      detail: `${state}, created ${createdAt}`,
      reapable,
    }));
  }
}

function zombie({ id, driver, owner }: Sandbox, detail: string): StaleItem {
  return { kind: 'zombie-record', name: id, driver, owner, detail, reapable: true };
}

function identity({ kind, name, driver }: StaleItem): string {
  return `${kind} ${driver} ${name}`;
}
