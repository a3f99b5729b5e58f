import type { RouteName } from '@caisson/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../telemetry/log.ts';
import { callerName, projectOf } from '../tenancy/caller.ts';
import { type LogItem, streamEvents } from './event-stream.ts';
import type { ApiContext, Call } from './handler.ts';
import { eventStreams } from './open-streams.ts';
import { position } from './sandbox-handlers.ts';

/** What a stream brings, and the position after which it begins. */
interface Source {
  readonly from: number;
  source(signal: AbortSignal): AsyncIterable<LogItem>;
}

/** What a route lists, as it happens, until the client, its key or the server ends. */
export async function followLive(
  route: RouteName,
  request: FastifyRequest,
  reply: FastifyReply,
  context: ApiContext,
  options: { readonly shutdown: AbortSignal; readonly log: Logger },
  call: Call<RouteName>,
): Promise<void> {
  const { caller } = call;
  const last = request.headers['last-event-id'];
  const { after } = call.query as { after?: string };
  const resume = typeof last === 'string' ? last : after;
  const begin = resume === undefined ? undefined : position(resume);
  const { from, source } = await (sources[route] ?? events)(context, call, begin);
  const name = callerName(caller);
  eventStreams.requireRoom(name);
  const key = await context.keys.watch(caller);
  reply.hijack();
  try {
    await streamEvents(reply.raw, { caller: name, from, until: [options.shutdown, key.signal], source });
  } catch (error) {
    options.log.warn({ err: error, request: request.id }, 'an event stream broke');
    reply.raw.destroy();
  } finally {
    key.stop();
  }
}

type FindSource = (context: ApiContext, call: Call<RouteName>, begin: number | undefined) => Promise<Source>;

/** Events of a project or of one sandbox. */
async function events(context: ApiContext, call: Call<RouteName>, begin: number | undefined): Promise<Source> {
  const { caller } = call;
  const { id } = call.params as { id?: string };
  const { project } = call.query as { project?: string };
  const filter =
    id === undefined
      ? { tenant: caller.owner.tenant, project: projectOf(caller, project) }
      : { tenant: caller.owner.tenant, subject: (await context.sandboxes.get(caller, id)).id };
  const from = begin ?? (await context.store.events.end());
  return { from, source: (signal) => context.feed.follow(filter, from, signal) };
}

/** What was decided on the way out of one sandbox. */
function egress({ networks }: ApiContext, call: Call<RouteName>, begin: number | undefined): Promise<Source> {
  const { caller, params, query } = call as unknown as Call<'egress.log'>;
  return networks.follow(caller, params.id, query, begin);
}

async function buildLog({ builds }: ApiContext, call: Call<RouteName>, begin = 0): Promise<Source> {
  const { caller, params } = call as unknown as Call<'build.logs'>;
  return builds.follow(caller, params.id, begin);
}

/** Where a stream is not one of events. */
const sources: Partial<Record<RouteName, FindSource>> = { 'egress.log': egress, 'build.logs': buildLog };
