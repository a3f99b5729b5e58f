import type { PrincipalRecord, ProjectRecord, Quota, TenantRecord } from '@caisson/contract';
import type { CallAnswer, CallInput, CallOptions } from './call.ts';
import type { Connection } from './connection.ts';
import { given } from './given.ts';

/** For the operator, who may act for any tenant. */
export interface TenantChoice extends CallOptions {
  readonly tenant?: string | undefined;
}

export type PrincipalChange = NonNullable<CallInput<'principal.set'>['body']>;
export type QuotaChange = CallInput<'quota.set'>['body'];

/** Tenants, projects, principals, and what each may have. */
export class Tenancy {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Every tenant for the operator, else the caller's own. */
  async tenants(options: CallOptions = {}): Promise<TenantRecord[]> {
    return (await this.#connection.call('tenant.list', options)).items;
  }

  /** Makes a tenant, suspends it or lets it go on; for the operator. */
  setTenant(tenant: string, change: { readonly suspended?: boolean } = {}, options: CallOptions = {}) {
    return this.#connection.call('tenant.set', { params: { tenant }, body: change, ...options });
  }

  async projects({ tenant, ...options }: TenantChoice = {}): Promise<ProjectRecord[]> {
    return (await this.#connection.call('project.list', { query: given({ tenant }), ...options })).items;
  }

  setProject(project: string, { tenant, ...options }: TenantChoice = {}): Promise<ProjectRecord> {
    return this.#connection.call('project.set', { params: { project }, query: given({ tenant }), ...options });
  }

  async principals({ tenant, ...options }: TenantChoice = {}): Promise<PrincipalRecord[]> {
    return (await this.#connection.call('principal.list', { query: given({ tenant }), ...options })).items;
  }

  /** Makes a principal, or changes what it is and the most that its keys may do. */
  setPrincipal(
    principal: string,
    change: PrincipalChange,
    { tenant, ...options }: TenantChoice = {},
  ): Promise<PrincipalRecord> {
    const query = given({ tenant });
    return this.#connection.call('principal.set', { params: { principal }, query, body: change, ...options });
  }

  /** Its keys are revoked; what it has stays its own. */
  removePrincipal(
    principal: string,
    { tenant, ...options }: TenantChoice = {},
  ): Promise<CallAnswer<'principal.remove'>> {
    return this.#connection.call('principal.remove', { params: { principal }, query: given({ tenant }), ...options });
  }

  /** The tenant's quota first, then those of its projects. */
  async quotas(options: TenantChoice & { readonly project?: string | undefined } = {}): Promise<Quota[]> {
    const { tenant, project, ...rest } = options;
    return (await this.#connection.call('quota.get', { query: given({ tenant, project }), ...rest })).items;
  }

  /** Changes the named limits; null takes one away. */
  setQuota(change: QuotaChange, options: CallOptions = {}): Promise<Quota> {
    return this.#connection.call('quota.set', { body: change, ...options });
  }
}
