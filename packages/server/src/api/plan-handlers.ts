import type { planRoutes } from '@caisson/contract';
import type { Handlers } from './handler.ts';
import { ok } from './sandbox-handlers.ts';

/** The index of packages is fetched the first time, from a mirror that may be slow. */
const longestMs = 180_000;

export const planHandlers: Handlers<keyof typeof planRoutes> = {
  'plan.make': async ({ plans }, { body, onLeft }) => {
    const left = new AbortController();
    onLeft(() => left.abort());
    return ok(await plans.make(body, AbortSignal.any([left.signal, AbortSignal.timeout(longestMs)])));
  },
};
