import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../telemetry/log.ts';
import { type Caller, callerName } from '../tenancy/caller.ts';
import type { Keys } from '../tenancy/keys.ts';
import { ByteSink } from './byte-sink.ts';
import type { ByteAnswer } from './handler.ts';
import { liveStreams } from './open-streams.ts';

export interface ByteAnswerContext {
  readonly caller: Caller;
  readonly keys: Keys;
  readonly shutdown: AbortSignal;
  readonly log: Logger;
}

/** What comes out of a sandbox is anybody's: a browser must take it for nothing but bytes. */
const foreignBytes = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
};

/** Sends an answer of bytes. After its head nothing can be told any more but that it broke off. */
export async function sendBytes(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: ByteAnswer,
  context: ByteAnswerContext,
): Promise<void> {
  const response = reply.raw;
  const until = [context.shutdown];
  const ends: (() => void)[] = [];
  if (answer.isLive) {
    const key = await context.keys.watch(context.caller);
    until.push(key.signal);
    ends.push(key.stop, liveStreams.enter(callerName(context.caller)));
  }
  reply.hijack();
  const sink = new ByteSink(response, until);
  try {
    response.writeHead(answer.status, { ...foreignBytes, ...answer.headers });
    await answer.send(sink);
    if (sink.closed.aborted) response.destroy();
    else response.end();
  } catch (error) {
    context.log.warn({ err: error, request: request.id }, 'an answer broke off');
    response.destroy();
  } finally {
    sink.close();
    for (const end of ends) end();
  }
}
