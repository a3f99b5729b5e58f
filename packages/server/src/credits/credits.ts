import type { CreditBalance, CreditTransfer, UsageRecord } from '@caisson/contract';
import type { Grant } from '../store/credits.ts';
import type { Store } from '../store/store.ts';
import type { UsageFilter } from '../store/usage.ts';
import { type Caller, requireOperator, tenantOf } from '../tenancy/caller.ts';
import type { Settlement } from './settlement.ts';

/** What can be asked about credits. Only the operator gives them. */
export class Credits {
  readonly #store: Pick<Store, 'credits' | 'usage'>;
  readonly #settlement: Pick<Settlement, 'tenant'>;

  constructor(store: Pick<Store, 'credits' | 'usage'>, settlement: Pick<Settlement, 'tenant'>) {
    this.#store = store;
    this.#settlement = settlement;
  }

  show(caller: Caller, tenant: string | undefined): Promise<CreditBalance> {
    return this.#store.credits.balance(tenantOf(caller, tenant));
  }

  async add(
    caller: Caller,
    grant: Omit<Grant, 'tenant'> & { readonly tenant?: string | undefined },
  ): Promise<CreditBalance> {
    requireOperator(caller, 'credits are given by the operator');
    const tenant = tenantOf(caller, grant.tenant);
    await this.#store.credits.grant({ ...grant, tenant });
    return this.#store.credits.balance(tenant);
  }

  /** Off: nothing is set aside, charged or refused, and what is used is told as ever. The balance stays. */
  async switch(caller: Caller, wanted: { readonly tenant?: string | undefined; readonly on: boolean }) {
    requireOperator(caller, 'credits are switched by the operator');
    const tenant = tenantOf(caller, wanted.tenant);
    await this.#store.credits.switch(tenant, wanted.on);
    await this.#settlement.tenant(tenant);
    return this.#store.credits.balance(tenant);
  }

  history(
    caller: Caller,
    tenant: string | undefined,
    filter: { readonly sandbox?: string | undefined; readonly before?: number | undefined; readonly limit: number },
  ): Promise<CreditTransfer[]> {
    return this.#store.credits.history(tenantOf(caller, tenant), filter);
  }

  usage(caller: Caller, filter: UsageFilter): Promise<UsageRecord[]> {
    return this.#store.usage.list({ ...filter, tenant: tenantOf(caller, filter.tenant) });
  }
}
