import { CaissonError, hasCode, type Id, type LeaseEnd, type Sandbox } from '@caisson/contract';
import { type EndingLease, LeaseKeeper } from '../leases/lease-keeper.ts';
import { leaseTerms } from '../leases/lease-terms.ts';
import { possibleEnd } from '../leases/possible-end.ts';
import type { Clocks } from '../leases/wall-clock.ts';
import type { ProfileCatalog } from '../profiles/catalog.ts';
import type { SeenLease } from '../store/lease-columns.ts';
import type { StepChange } from '../store/sandboxes.ts';
import type { Idle } from './idle.ts';
import type { Runner } from './runner.ts';
import { snapshotStorage } from './travel/snapshot-storage.ts';
import type { Snapshots } from './travel/snapshots.ts';
import type { WorkContext } from './work-context.ts';

/** Somebody may go on changing it while its lease ends; this many rounds are an accident, more are a quarrel. */
const maxRounds = 20;

export interface ExpiryContext {
  readonly work: WorkContext;
  readonly runner: Runner;
  readonly profiles: ProfileCatalog;
  readonly snapshots: Snapshots;
  readonly idle: Pick<Idle, 'idleMs'>;
  readonly clocks?: Clocks;
  failed?(lease: EndingLease, error: unknown): void;
  ended?(lease: EndingLease, lateMs: number): void;
}

/**
 * Ends what has outlived its lease, as its terms say.
 *
 * Laws
 * - Every step that ends something names the lease that it saw: one that was extended meanwhile lives on.
 * - What its terms keep is never destroyed by this. Where a backend lacks the ability, more is kept and not less: in place
 *   of a snapshot it is paused or stopped, in place of a pause stopped.
 * - One that is where its terms want it, or has failed with files that they keep, is left as it is, without a lease.
 */
export class Expiry {
  readonly keeper: LeaseKeeper;
  readonly #context: ExpiryContext;
  #stopListening = () => {};

  constructor(context: ExpiryContext) {
    this.#context = context;
    const { work, idle, clocks, failed, ended } = context;
    this.keeper = new LeaseKeeper({
      store: work.store.leases,
      end: (lease) => this.#end(lease),
      idleMs: (id) => idle.idleMs(id),
      ...(clocks === undefined ? {} : { clocks }),
      ...(failed === undefined ? {} : { failed }),
      ...(ended === undefined ? {} : { ended }),
    });
  }

  async open(): Promise<void> {
    await this.#fillTerms();
    this.#stopListening = this.#context.work.store.onEvent((_, sandbox) => {
      if (sandbox) this.keeper.changed(sandbox);
    });
    this.keeper.open();
  }

  async close(): Promise<void> {
    this.#stopListening();
    await this.keeper.close();
  }

  /** Everything that is due is begun. */
  async pass(): Promise<void> {
    await this.keeper.look();
  }

  /** Of sandboxes that were made before leases had terms: those of their profile. */
  async #fillTerms(): Promise<void> {
    const { work, profiles } = this.#context;
    const { leases } = work.store;
    for (const profile of await leases.profilesWithoutTerms()) {
      const known = profile ? profiles.find(profile.name, profile.version) : undefined;
      await leases.setTerms(profile, leaseTerms(known, {}));
    }
  }

  async #end({ sandbox: seen, at, why }: EndingLease): Promise<void> {
    const ifLease: SeenLease = why === 'idle' ? { idleAt: at } : { expiresAt: at };
    let sandbox: Sandbox | undefined = seen;
    for (let round = 0; round < maxRounds && sandbox; round += 1) {
      if (!isStill(sandbox, ifLease) || sandbox.state === 'destroyed' || sandbox.state === 'destroying') return;
      try {
        await this.#endOnce(sandbox, ifLease, why);
        return;
      } catch (error) {
        if (!hasCode(error, 'state_changed', 'sandbox_destroying', 'sandbox_destroyed')) throw error;
        sandbox = await this.#context.work.store.sandboxes.get(seen.id);
      }
    }
    if (sandbox) throw new CaissonError('state_changed', `${seen.id} kept changing while its lease ended`);
  }

  async #endOnce(sandbox: Sandbox, ifLease: SeenLease, why: EndingLease['why']): Promise<void> {
    const { runner, work } = this.#context;
    const wanted = this.#possible(sandbox);
    if (wanted !== 'destroy') {
      // What runs on it is waited for: it may well be what is wanted.
      const running = await runner.resume(sandbox.id);
      if (running && running.action !== 'create') {
        await running.done.catch(() => {});
        throw new CaissonError('state_changed', `${sandbox.id} was busy`);
      }
      if (isWhereWanted(sandbox, wanted)) return void (await work.store.leases.conclude(sandbox.id, ifLease));
    }
    const change = { reason: reasonFor(sandbox, why), ifLease };
    const live = sandbox.state === 'ready' || sandbox.state === 'paused';
    if (wanted === 'pause' && sandbox.state === 'ready') {
      await (await runner.begin(sandbox, 'pause', 'pausing', change)).done;
    } else if (wanted === 'stop' && live) {
      await (await runner.begin(sandbox, 'stop', 'stopping', change)).done;
    } else {
      const isKept = wanted === 'snapshot-then-destroy' && (live || sandbox.state === 'stopped');
      const kept = isKept ? await this.#snapshot(sandbox, ifLease) : undefined;
      return this.#destroy(sandbox, change, kept);
    }
    // Not before: what could not be stopped is due again.
    await work.store.leases.conclude(sandbox.id, ifLease);
  }

  async #destroy(sandbox: Sandbox, change: StepChange, kept: Id<'snapshot'> | undefined): Promise<void> {
    const { runner, snapshots } = this.#context;
    try {
      await (await runner.begin(sandbox, 'destroy', 'destroying', change)).done;
    } catch (error) {
      // It was extended or changed meanwhile: what was kept is of no end.
      if (kept && hasCode(error, 'state_changed')) await snapshots.discard(kept).catch(() => {});
      throw error;
    }
  }

  /** One for each end: a server that was killed after it goes on with what follows. */
  async #snapshot(sandbox: Sandbox, seen: SeenLease): Promise<Id<'snapshot'> | undefined> {
    const end = new Date('idleAt' in seen ? seen.idleAt : seen.expiresAt).toISOString();
    const name = `lease-end-${end.toLowerCase().replace(/[^0-9tz]/g, '-')}`;
    const wanted = { kind: 'named', name, labels: { 'lease-end': end } } as const;
    try {
      return (await this.#context.snapshots.make(sandbox, wanted)).id;
    } catch (error) {
      if (!hasCode(error, 'snapshot_exists')) throw error;
      return undefined;
    }
  }

  /** What its terms say, or what keeps more where its backend lacks the ability. */
  #possible(sandbox: Sandbox): LeaseEnd {
    const { work } = this.#context;
    return possibleEnd(sandbox.lease.atExpiry, {
      canPause: () => work.driver(sandbox.driver).pause !== undefined,
      canSnapshot: () => canSnapshot(work, sandbox),
    });
  }
}

function canSnapshot(work: WorkContext, sandbox: Sandbox): boolean {
  try {
    snapshotStorage(work, sandbox);
    return true;
  } catch (error) {
    if (hasCode(error, 'snapshots_not_available')) return false;
    throw error;
  }
}

/** Nothing more is to be ended: it stands still, or runs nothing, or failed with files that shall be kept. */
function isWhereWanted({ state, persistence }: Sandbox, wanted: Exclude<LeaseEnd, 'destroy'>): boolean {
  if (state === 'failed') return persistence === 'persistent';
  if (wanted === 'snapshot-then-destroy') return false;
  return state === 'stopped' || (wanted === 'pause' && state === 'paused');
}

/** The idle time is not in the record; the step itself compares it. */
function isStill(sandbox: Sandbox, seen: SeenLease): boolean {
  return 'idleAt' in seen || timeOf(sandbox) === seen.expiresAt;
}

function timeOf({ expiresAt }: Sandbox): number | null {
  return expiresAt === null ? null : Date.parse(expiresAt);
}

function reasonFor({ expiresAt, lease }: Sandbox, why: EndingLease['why']) {
  if (why === 'idle') return { code: 'idle', message: `nobody used it for ${lease.idleSeconds} s` } as const;
  return { code: 'expired', message: `its lease ended at ${expiresAt}` } as const;
}
