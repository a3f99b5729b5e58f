import { hasCode, type Id } from '@caisson/contract';
import type { Store } from '../store/store.ts';
import type { Repair } from './healing/repair.ts';
import type { Runner } from './runner.ts';

/** Counting everything again costs a read of every living sandbox of those who have quotas. */
const countEveryMs = 60_000;

/** Keeps what is counted and held in step with what there is. Both change in one transaction, so nothing is ever found. */
export class Books {
  readonly #store: Store;
  #countedAt = Number.NEGATIVE_INFINITY;

  constructor(store: Store) {
    this.#store = store;
  }

  async pass(): Promise<Repair[]> {
    const now = performance.now();
    const released = await this.#store.credits.releaseOrphans();
    const repairs = released.map(({ sandbox, released: micros }): Repair => {
      return {
        kind: 'credits',
        sandbox,
        found: `${micros} micro-units held for a sandbox that is gone`,
        did: 'repaired',
      };
    });
    if (now - this.#countedAt < countEveryMs) return repairs;
    this.#countedAt = now;
    for (const { tenant, project, found } of await this.#store.quotas.repair()) {
      const of = project === null ? `tenant ${tenant}` : `project ${tenant}/${project}`;
      repairs.push({ kind: 'quota', sandbox: of, found, did: 'repaired' });
    }
    return repairs;
  }
}

/** Stops a sandbox that nothing is left for. What is stopped or failed costs its disk at most, and stays. */
export async function stopUnpaid(store: Store, runner: Runner, id: Id<'sandbox'>): Promise<void> {
  const sandbox = await store.sandboxes.get(id);
  if (!sandbox || (sandbox.state !== 'ready' && sandbox.state !== 'paused') || runner.busy(id)) return;
  const message = `no credits are left for ${sandbox.owner.tenant}`;
  const reason = { code: 'credits_exhausted', message } as const;
  try {
    await runner.begin(sandbox, 'stop', 'stopping', { reason });
  } catch (error) {
    // Somebody was quicker; what is left to stop is found at the next look.
    if (!hasCode(error, 'state_changed', 'sandbox_destroying', 'sandbox_destroyed')) throw error;
  }
}
