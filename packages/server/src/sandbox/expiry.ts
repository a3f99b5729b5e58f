import type { Id, Sandbox } from '@caisson/contract';
import type { ProfileCatalog } from '../profiles/catalog.ts';
import type { Runner } from './runner.ts';
import type { Sandboxes } from './sandboxes.ts';
import type { WorkContext } from './work-context.ts';

/** The first pause after a sandbox could not be ended, doubled each time up to the longest. */
const firstPauseMs = 5_000;
const longestPauseMs = 3_600_000;

/** Ends what has outlived its lease, as its profile says: destroyed, or stopped. */
export class Expiry {
  readonly #work: WorkContext;
  readonly #runner: Runner;
  readonly #sandboxes: Sandboxes;
  readonly #profiles: ProfileCatalog;
  readonly #pauses = new Map<Id<'sandbox'>, { until: number; ms: number }>();

  constructor(work: WorkContext, runner: Runner, sandboxes: Sandboxes, profiles: ProfileCatalog) {
    this.#work = work;
    this.#runner = runner;
    this.#sandboxes = sandboxes;
    this.#profiles = profiles;
  }

  async pass(limit: number): Promise<void> {
    const now = Date.now();
    const due = await this.#work.store.sandboxes.expired(now, limit + this.#pauses.size);
    const expired = new Set(due.map(({ id }) => id));
    for (const id of this.#pauses.keys()) if (!expired.has(id)) this.#pauses.delete(id);
    for (const sandbox of due) {
      if (this.#runner.busy(sandbox.id) || (this.#pauses.get(sandbox.id)?.until ?? 0) > now) continue;
      // Not waited for: the next pass finds it busy until it is done.
      this.#end(sandbox).then(
        () => this.#pauses.delete(sandbox.id),
        () => this.#pause(sandbox.id, now),
      );
    }
  }

  async #end(sandbox: Sandbox): Promise<void> {
    const reason = { code: 'expired', message: `its lease ended at ${sandbox.expiresAt}` } as const;
    if (this.#keeps(sandbox) && (sandbox.state === 'ready' || sandbox.state === 'paused')) {
      const operation = await this.#runner.begin(sandbox, 'stop', 'stopping', { reason, expiresAt: null });
      await operation.done;
    } else {
      await this.#sandboxes.end(sandbox, reason, 60);
    }
  }

  /** Whether its profile wants something of it to remain. */
  #keeps({ profile }: Sandbox): boolean {
    if (!profile) return false;
    const { lease } = this.#profiles.find(profile.name, profile.version) ?? {};
    return lease?.atExpiry !== undefined && lease.atExpiry !== 'destroy';
  }

  /** What cannot be ended now is not tried at every pass: each try leaves events behind. */
  #pause(id: Id<'sandbox'>, now: number): void {
    const ms = Math.min(longestPauseMs, (this.#pauses.get(id)?.ms ?? firstPauseMs / 2) * 2);
    this.#pauses.set(id, { until: now + ms, ms });
  }
}
