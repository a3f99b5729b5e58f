import type {
  ActorType,
  PrincipalRecord,
  ProjectRecord,
  Quota,
  QuotaLimits,
  Role,
  TenantRecord,
} from '@caisson/contract';
import { includesScope } from '@caisson/contract';
import type { Store } from '../store/store.ts';
import { type Caller, isOperator, projectOf, requireOperator, tenantOf } from './caller.ts';
import type { Keys } from './keys.ts';

/** Who there is, and what each may have. Every method takes the caller and checks what it may change. */
export class Tenancy {
  readonly #store: Store;
  readonly #keys: Keys;

  constructor(store: Store, keys: Keys) {
    this.#store = store;
    this.#keys = keys;
  }

  async tenants(caller: Caller): Promise<TenantRecord[]> {
    if (isOperator(caller)) return this.#store.tenants.list();
    const own = await this.#store.tenants.get(caller.owner.tenant);
    return own ? [own] : [];
  }

  async setTenant(caller: Caller, name: string, suspended: boolean | undefined): Promise<TenantRecord> {
    requireOperator(caller, 'tenants are made and suspended by the operator');
    const tenant = await this.#store.tenants.set(name, suspended);
    await this.#keys.changedOf(name);
    return tenant;
  }

  projects(caller: Caller, tenant: string | undefined): Promise<ProjectRecord[]> {
    return this.#store.tenants.projects(tenantOf(caller, tenant));
  }

  async setProject(caller: Caller, name: string, tenant: string | undefined): Promise<ProjectRecord> {
    return this.#store.tenants.setProject(await this.#known(caller, tenant), name);
  }

  principals(caller: Caller, tenant: string | undefined): Promise<PrincipalRecord[]> {
    return this.#store.tenants.principals(tenantOf(caller, tenant));
  }

  async setPrincipal(
    caller: Caller,
    name: string,
    tenant: string | undefined,
    change: { readonly type?: ActorType | undefined; readonly role?: Role | undefined },
  ): Promise<PrincipalRecord> {
    const of = await this.#known(caller, tenant);
    const principal = await this.#store.tenants.setPrincipal(of, name, change);
    await this.#keys.changedOf(of, name);
    return principal;
  }

  async removePrincipal(
    caller: Caller,
    name: string,
    tenant: string | undefined,
  ): Promise<PrincipalRecord & { revokedKeys: number }> {
    const of = tenantOf(caller, tenant);
    const removed = await this.#store.tenants.removePrincipal(of, name);
    await this.#keys.changedOf(of, name);
    return removed;
  }

  /** The tenant's, then those of the projects that the caller may see. */
  async quotas(caller: Caller, tenant: string | undefined, project: string | undefined): Promise<Quota[]> {
    const of = tenantOf(caller, tenant);
    const { quotas } = this.#store;
    const whole = await quotas.get(of, null);
    if (project !== undefined || !includesScope(caller.scope, 'manage')) {
      const own = of === caller.owner.tenant ? projectOf(caller, project) : (project ?? '');
      return [whole, await quotas.get(of, own)];
    }
    const items = [whole];
    for (const name of await quotas.projects(of)) items.push(await quotas.get(of, name));
    return items;
  }

  async setQuota(
    caller: Caller,
    tenant: string | undefined,
    project: string | undefined,
    limits: QuotaLimits,
  ): Promise<Quota> {
    const of = tenantOf(caller, tenant);
    if (project === undefined) requireOperator(caller, 'the quota of a tenant is set by the operator');
    return this.#store.quotas.set(of, project ?? null, limits);
  }

  /** What belongs to a tenant makes the tenant known. */
  async #known(caller: Caller, wanted: string | undefined): Promise<string> {
    const tenant = tenantOf(caller, wanted);
    await this.#store.tenants.set(tenant, undefined);
    return tenant;
  }
}
