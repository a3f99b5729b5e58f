import type { imageRoutes } from '@caisson/contract';
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
    progressAnswer(call, (doing) => images.pull(call.caller, call.body.reference, call.body.secret, doing)),

  'image.publish': ({ images }, call) =>
    progressAnswer(call, (doing) => images.publish(call.caller, call.params.digest, call.body, doing)),

  'image.delete': async ({ images }, call) => ok(await images.delete(call.caller, call.params.digest, waiting(call))),

  'image.gc': ({ images }, call) =>
    progressAnswer(call, ({ signal, progress }) => {
      progress('looking for what nothing refers to');
      return images.collect(call.body.unusedSeconds, signal);
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

/** Until the client leaves, and not for ever. */
function waiting({ onLeft }: Pick<Call<'image.get'>, 'onLeft'>): AbortSignal {
  const left = new AbortController();
  onLeft(() => left.abort());
  return AbortSignal.any([left.signal, AbortSignal.timeout(longestMs)]);
}
