import { byteForms, describeTools, type ToolProgress, type toolRoutes, toProblem } from '@caisson/contract';
import { asCaissonError } from '../sandbox/failure.ts';
import { callerName } from '../tenancy/caller.ts';
import type { ByteSink } from './byte-sink.ts';
import type { ApiContext, ByteAnswer, Call, Handlers } from './handler.ts';
import { liveStreams } from './open-streams.ts';
import { ok } from './sandbox-handlers.ts';

/** Proxies close what is silent for a minute. */
const keepaliveMs = 15_000;

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
  return {
    status: 200,
    headers: { 'content-type': byteForms.events, 'x-accel-buffering': 'no' },
    isLive: true,
    async send(sink) {
      const keepalive = setInterval(() => sink.write(': still here\n\n'), keepaliveMs);
      try {
        sink.write(': it begins\n\n');
        const answer = tools.run(caller, params.id, body, progressTo(sink), shutdown);
        const told = await Promise.race([answer, gone(sink.closed)]);
        if (told) tell(sink, 'answer', told);
      } catch (error) {
        tell(sink, 'problem', toProblem(asCaissonError(error)));
      } finally {
        clearInterval(keepalive);
      }
    },
  };
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
    const room = tell(sink, 'progress', { stream, text, ...(lost > 0 ? { lost } : {}) });
    lost = 0;
    if (room === undefined) return;
    isFull = true;
    void room.then(() => {
      isFull = false;
    });
  };
}

function tell(sink: ByteSink, event: 'progress' | 'answer' | 'problem', data: unknown): Promise<void> | undefined {
  return sink.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

function gone(closed: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (closed.aborted) resolve(undefined);
    else closed.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}
