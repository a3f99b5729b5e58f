import { byteForms, toProblem } from '@caisson/contract';
import { asCaissonError } from '../sandbox/failure.ts';
import { callerName } from '../tenancy/caller.ts';
import type { ByteSink } from './byte-sink.ts';
import type { Answer, ByteAnswer, Call } from './handler.ts';
import { liveStreams } from './open-streams.ts';

/** Proxies close what is silent for a minute. */
const keepaliveMs = 15_000;

export interface ProgressWork {
  /** Ends when the client leaves or the server shuts down. */
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}

/**
 * The answer of work that takes long: for a client that takes events, lines as they come and the answer as the last of
 * them; for any other, the answer alone. The work is ended when the client leaves: asked again it goes on from what is done.
 */
export async function progressAnswer(
  call: Pick<Call<'image.pull'>, 'caller' | 'headers' | 'shutdown' | 'onLeft'>,
  work: (doing: ProgressWork) => Promise<unknown>,
): Promise<Answer | ByteAnswer> {
  if (!call.headers.accept?.includes(byteForms.events)) {
    const left = new AbortController();
    call.onLeft(() => left.abort());
    return { status: 200, body: await work({ signal: left.signal, progress: () => {} }) };
  }
  liveStreams.requireRoom(callerName(call.caller));
  return eventsAnswer((sink) => {
    const progress = (text: string) => void tellEvent(sink, 'progress', { text });
    return work({ signal: AbortSignal.any([sink.closed, call.shutdown]), progress });
  });
}

/** Events as they come; what the work gives is the last of them, and nothing when it gives undefined. */
export function eventsAnswer(work: (sink: ByteSink) => Promise<unknown>): ByteAnswer {
  return {
    status: 200,
    headers: { 'content-type': byteForms.events, 'x-accel-buffering': 'no' },
    isLive: true,
    async send(sink) {
      const keepalive = setInterval(() => sink.write(': still here\n\n'), keepaliveMs);
      try {
        sink.write(': it begins\n\n');
        const told = await work(sink);
        if (told !== undefined) tellEvent(sink, 'answer', told);
      } catch (error) {
        tellEvent(sink, 'problem', toProblem(asCaissonError(error)));
      } finally {
        clearInterval(keepalive);
      }
    },
  };
}

export function tellEvent(
  sink: ByteSink,
  event: 'progress' | 'answer' | 'problem',
  data: unknown,
): Promise<void> | undefined {
  return sink.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}
