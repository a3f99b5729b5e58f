import { byteForms, describeTools, type ToolProgress, type toolRoutes } from '@caisson/contract';
import { callerName } from '../tenancy/caller.ts';
import type { ByteSink } from './byte-sink.ts';
import type { ApiContext, ByteAnswer, Call, Handlers } from './handler.ts';
import { liveStreams } from './open-streams.ts';
import { eventsAnswer, tellEvent } from './progress-answer.ts';
import { ok } from './sandbox-handlers.ts';

export const toolHandlers: Handlers<keyof typeof toolRoutes> = {
  'tool.list': async () => ok({ items: describeTools() }),

  'tool.run': async (context, call) => {
    if (call.headers.accept?.includes(byteForms.events)) return runAsStream(context, call);
    return ok(await context.tools.run(call.caller, call.params.id, call.body, () => {}, call.shutdown));
  },
};

/** A request that is wrong is answered like any other; what goes wrong later is the last event. */
async function runAsStream({ tools }: ApiContext, call: Call<'tool.run'>): Promise<ByteAnswer> {
  const { caller, params, body, shutdown } = call;
  liveStreams.requireRoom(callerName(caller));
  await tools.check(caller, params.id, body);
  return eventsAnswer((sink) => {
    const answer = tools.run(caller, params.id, body, progressTo(sink), shutdown);
    return Promise.race([answer, gone(sink.closed)]);
  });
}

/**
 * Others may follow the same call, and it has its own pace: a reader that is too slow for it misses some, and is told how
 * much. The answer is whole in any case.
 */
function progressTo(sink: ByteSink): (progress: ToolProgress) => void {
  let isFull = false;
  let lost = 0;
  return ({ stream, text }) => {
    if (isFull) {
      lost += text.length;
      return;
    }
    const room = tellEvent(sink, 'progress', { stream, text, ...(lost > 0 ? { lost } : {}) });
    lost = 0;
    if (room === undefined) return;
    isFull = true;
    void room.then(() => {
      isFull = false;
    });
  };
}

function gone(closed: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (closed.aborted) resolve(undefined);
    else closed.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}
