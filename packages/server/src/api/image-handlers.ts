import type { imageRoutes } from '@caisson/contract';
import { requireOperator } from '../tenancy/caller.ts';
import type { Call, Handlers } from './handler.ts';
import { progressAnswer } from './progress-answer.ts';
import { ok } from './sandbox-handlers.ts';

/** A registry that is asked for a document answers within this, or has been asked for too much. */
const longestMs = 60_000;

export const imageHandlers: Handlers<keyof typeof imageRoutes> = {
  'image.list': async ({ images }, call) =>
    ok({ items: await images.list(call.caller, call.query.all === 'true', waiting(call)) }),

  'image.get': async ({ images }, call) => ok(await images.get(call.caller, call.params.digest, waiting(call))),

  'image.pull': ({ images }, call) =>
    operated(call, (doing) => images.pull(call.caller, call.body.reference, call.body.secret, doing)),

  'image.publish': ({ images }, call) =>
    operated(call, (doing) => images.publish(call.caller, call.params.digest, call.body, doing)),

  'image.delete': async ({ images }, call) => ok(await images.delete(call.caller, call.params.digest, waiting(call))),

  'image.gc': ({ images }, call) =>
    operated(call, ({ signal, progress }) => {
      progress('looking for what nothing refers to');
      return images.collect(call.caller, call.body.unusedSeconds, signal);
    }),

  'image.tags': async ({ images }, call) => ok(await images.tags(call.caller, call.query, waiting(call))),

  'image.manifest': async ({ images }, call) => {
    const { reference, secret, head } = call.query;
    return ok(await images.manifest(call.caller, { reference, secret, head: head === 'true' }, waiting(call)));
  },

  'image.unpublish': async ({ images }, call) => ok(await images.unpublish(call.caller, call.query, waiting(call))),

  'image.extensions': async ({ images }, call) =>
    ok({ items: await images.extensions(call.caller, call.query, waiting(call)) }),
};

/** Who may not is told so before an answer begins. */
async function operated(
  call: Parameters<typeof progressAnswer>[0],
  work: Parameters<typeof progressAnswer>[1],
): ReturnType<typeof progressAnswer> {
  requireOperator(call.caller, 'images are pulled, published and removed by the operator');
  return progressAnswer(call, work);
}

/** Until the client leaves, and not for ever. */
function waiting({ onLeft }: Pick<Call<'image.get'>, 'onLeft'>): AbortSignal {
  const left = new AbortController();
  onLeft(() => left.abort());
  return AbortSignal.any([left.signal, AbortSignal.timeout(longestMs)]);
}
