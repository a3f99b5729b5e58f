import type { RouteName } from '@caisson/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../telemetry/log.ts';
import { callerName, projectOf } from '../tenancy/caller.ts';
import { streamEvents } from './event-stream.ts';
import type { ApiContext, Call } from './handler.ts';
import { eventStreams } from './open-streams.ts';
import { position } from './sandbox-handlers.ts';

/** Events of a project or of one sandbox as they happen, until the client, its key or the server ends. */
export async function followEvents(
  request: FastifyRequest,
  reply: FastifyReply,
  context: ApiContext,
  options: { readonly shutdown: AbortSignal; readonly log: Logger },
  call: Call<RouteName>,
): Promise<void> {
  const { caller } = call;
  const { id } = call.params as { id?: string };
  const { after, project } = call.query as { after?: string; project?: string };
  const filter =
    id === undefined
      ? { tenant: caller.owner.tenant, project: projectOf(caller, project) }
      : { tenant: caller.owner.tenant, subject: (await context.sandboxes.get(caller, id)).id };
  const last = request.headers['last-event-id'];
  const resume = typeof last === 'string' ? last : after;
  const from = resume === undefined ? await context.store.events.end() : position(resume);
  const name = callerName(caller);
  eventStreams.requireRoom(name);
  const key = await context.keys.watch(caller);
  reply.hijack();
  const source = (signal: AbortSignal) => context.feed.follow(filter, from, signal);
  try {
    await streamEvents(reply.raw, { caller: name, from, until: [options.shutdown, key.signal], source });
  } catch (error) {
    options.log.warn({ err: error, request: request.id }, 'an event stream broke');
    reply.raw.destroy();
  } finally {
    key.stop();
  }
}
