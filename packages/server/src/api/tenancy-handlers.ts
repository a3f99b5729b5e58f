import type { quotaRoutes, tenancyRoutes } from '@caisson/contract';
import type { Handlers } from './handler.ts';
import { ok } from './sandbox-handlers.ts';

export const tenancyHandlers: Handlers<keyof typeof tenancyRoutes | keyof typeof quotaRoutes> = {
  'tenant.list': async ({ tenancy }, { caller }) => ok({ items: await tenancy.tenants(caller) }),

  'tenant.set': async ({ tenancy }, { caller, params, body }) =>
    ok(await tenancy.setTenant(caller, params.tenant, body.suspended)),

  'project.list': async ({ tenancy }, { caller, query }) => ok({ items: await tenancy.projects(caller, query.tenant) }),

  'project.set': async ({ tenancy }, { caller, params, query }) =>
    ok(await tenancy.setProject(caller, params.project, query.tenant)),

  'principal.list': async ({ tenancy }, { caller, query }) =>
    ok({ items: await tenancy.principals(caller, query.tenant) }),

  'principal.set': async ({ tenancy }, { caller, params, query, body }) =>
    ok(await tenancy.setPrincipal(caller, params.principal, query.tenant, body)),

  'principal.remove': async ({ tenancy }, { caller, params, query }) =>
    ok(await tenancy.removePrincipal(caller, params.principal, query.tenant)),

  'quota.get': async ({ tenancy }, { caller, query }) =>
    ok({ items: await tenancy.quotas(caller, query.tenant, query.project) }),

  'quota.set': async ({ tenancy }, { caller, body }) =>
    ok(await tenancy.setQuota(caller, body.tenant, body.project, body.limits)),
};
