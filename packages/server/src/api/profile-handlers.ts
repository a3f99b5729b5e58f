import { profileRef, type profileRoutes } from '@caisson/contract';
import { checkProfile } from '../sandbox/check-profile.ts';
import { requireOperator } from '../tenancy/caller.ts';
import type { Handlers } from './handler.ts';
import { ok } from './sandbox-handlers.ts';

export const profileHandlers: Handlers<keyof typeof profileRoutes> = {
  'profile.list': async ({ profiles }) => ok({ items: profiles.list() }),

  'profile.get': async ({ profiles }, { params, query }) =>
    ok(
      profiles.get(
        query.version === undefined ? params.name : profileRef({ name: params.name, version: query.version }),
      ),
    ),

  'profile.check': async ({ profiles }, { body }) => ok(checkProfile(profiles, body)),

  'profile.add': async ({ profiles, pools }, { caller, body }) => {
    requireOperator(caller, 'profiles are for every tenant; the operator adds them');
    const checked = checkProfile(profiles, body);
    if (checked.isNew) {
      profiles.add(body);
      await pools.renew(checked.profile.name);
    }
    return { status: checked.isNew ? 201 : 200, body: checked };
  },
};
