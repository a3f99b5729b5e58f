import { CaissonError, isId, type systemRoutes } from '@caisson/contract';
import { blueprintDigest } from '@caisson/workspace-composition/digest';
import { normalize } from '../sandbox/compose.ts';
import { isOperator, requireScope, tenantOf } from '../tenancy/caller.ts';
import type { Handlers } from './handler.ts';
import { ok, page } from './sandbox-handlers.ts';

type SystemRoute = Exclude<keyof typeof systemRoutes, 'event.list'>;

export const systemHandlers: Handlers<SystemRoute> = {
  'spec.normalize': async (_, { body }) => {
    const blueprint = normalize(body.spec, body.sourceRequired);
    return ok({ blueprint, digest: blueprintDigest(blueprint) });
  },

  'key.create': async ({ keys }, { caller, body }) => {
    const own = caller.owner;
    requireScope(caller, body.scope);
    const owner = {
      tenant: tenantOf(caller, body.tenant),
      project: body.project ?? own.project,
      principal: body.principal ?? own.principal,
    };
    return {
      status: 201,
      body: await keys.create({
        name: body.name,
        owner,
        scope: body.scope,
        expiresInSeconds: body.expiresInSeconds,
        actor: body.actorType,
      }),
    };
  },

  'key.list': async ({ store }, { caller, query }) => {
    if (query.after !== undefined && !isId('key', query.after)) throw new CaissonError('cursor_invalid');
    const tenant = isOperator(caller) ? undefined : caller.owner.tenant;
    return page(await store.keys.list(tenant, query.limit + 1, query.after), query.limit, (key) => key.id);
  },

  'key.revoke': async ({ store, keys }, { caller, params }) => {
    const key = await store.keys.get(params.id);
    const own = key && (isOperator(caller) || key.owner.tenant === caller.owner.tenant);
    if (!own) throw new CaissonError('key_not_found', `there is no key ${params.id}`);
    return ok(await keys.revoke(params.id));
  },

  'system.whoami': async (_, { caller }) =>
    ok({ owner: caller.owner, scope: caller.scope, local: caller.key === null }),

  'system.version': async ({ version }) => ok({ version, api: 'v1' }),

  'system.doctor': async (context) => {
    const checks = await context.doctor();
    return ok({ ok: checks.every((check) => check.ok || check.optional === true), version: context.version, checks });
  },
};
