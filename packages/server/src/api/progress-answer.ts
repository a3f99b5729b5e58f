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
  return {
    status: 200,
    headers: { 'content-type': byteForms.events, 'x-accel-buffering': 'no' },
    isLive: true,
    async send(sink) {
      const keepalive = setInterval(() => sink.write(': still here\n\n'), keepaliveMs);
      try {
        sink.write(': it begins\n\n');
        const progress = (text: string) => void tell(sink, 'progress', { text });
        tell(sink, 'answer', await work({ signal: AbortSignal.any([sink.closed, call.shutdown]), progress }));
      } catch (error) {
        tell(sink, 'problem', toProblem(asCaissonError(error)));
      } finally {
        clearInterval(keepalive);
      }
    },
  };
}

function tell(sink: ByteSink, event: 'progress' | 'answer' | 'problem', data: unknown): Promise<void> | undefined {
  return sink.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}
