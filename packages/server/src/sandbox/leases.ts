import { CaissonError, type ExpireReport, type ExpiringItem, maxExpiring, type Sandbox } from '@caisson/contract';
import { extendedEnd } from '../leases/extension.ts';
import type { LeaseKeeper } from '../leases/lease-keeper.ts';
import type { IdempotentRequest } from '../store/idempotency.ts';
import type { Store } from '../store/store.ts';
import { type Caller, mayChange, projectOf } from '../tenancy/caller.ts';
import type { Sandboxes } from './sandboxes.ts';

export interface LeasesContext {
  readonly store: Store;
  readonly sandboxes: Sandboxes;
  readonly keeper: LeaseKeeper;
  /** Whether an extension was granted. */
  extended?(granted: boolean): void;
}

export interface ExpireRequest {
  readonly apply: boolean;
  readonly withinSeconds: number;
  readonly project?: string | undefined;
}

/** What can be asked about leases. Every method takes the caller and checks the owner. */
export class Leases {
  readonly #context: LeasesContext;

  constructor(context: LeasesContext) {
    this.#context = context;
  }

  async extend(caller: Caller, id: string, seconds: number, idempotency?: IdempotentRequest): Promise<Sandbox> {
    const { store, sandboxes, keeper } = this.#context;
    const seen = await sandboxes.own(caller, id);
    const end = (lease: Parameters<typeof extendedEnd>[0]) => extendedEnd(lease, seconds);
    const told = this.#context.extended;
    const sandbox = await store.leases.extend(seen.id, { idempotency, end }).catch((error: unknown) => {
      told?.(false);
      throw error;
    });
    told?.(true);
    keeper.changed(sandbox);
    return sandbox;
  }

  /** Those of a project whose lease has ended or ends within a time. With `apply` the due ones of the caller are ended. */
  async expire(caller: Caller, { apply, withinSeconds, project }: ExpireRequest): Promise<ExpireReport> {
    const place = { tenant: caller.owner.tenant, project: projectOf(caller, project) };
    const now = Date.now();
    const found = await this.#context.store.leases.ending(place, now + withinSeconds * 1000, maxExpiring);
    const items = await Promise.all(found.map((sandbox) => this.#item(caller, sandbox, apply, now)));
    return { applied: apply, items };
  }

  async #item(caller: Caller, sandbox: Sandbox, apply: boolean, now: number): Promise<ExpiringItem> {
    const { id, name, owner, state, expiresAt, lease } = sandbox;
    const at = Date.parse(expiresAt ?? '');
    const due = at <= now;
    const item = { sandbox: id, name, owner, state, expiresAt: expiresAt ?? '', atExpiry: lease.atExpiry, due };
    if (!apply || !due) return { ...item, ended: false, error: null };
    if (!mayChange(caller, sandbox)) return { ...item, ended: false, error: `it belongs to ${owner.principal}` };
    try {
      await this.#context.keeper.endNow({ sandbox, at, why: 'expired' });
      return { ...item, ended: true, error: null };
    } catch (error) {
      const message = error instanceof CaissonError ? error.message : 'a defect of Caisson stopped it';
      return { ...item, ended: false, error: message };
    }
  }
}
