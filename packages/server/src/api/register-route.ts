import { isId, type Route, type RouteName, routes } from '@caisson/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { readTraceParent } from '../telemetry/trace-parent.ts';
import { type Caller, requireScope } from '../tenancy/caller.ts';
import { authenticate } from './authenticate.ts';
import { buildHandlers } from './build-handlers.ts';
import { sendBytes } from './byte-answer.ts';
import { fileHandlers } from './file-handlers.ts';
import { followLive } from './follow-live.ts';
import type { Answer, ApiContext, ByteAnswer, Call, Handler, Handlers } from './handler.ts';
import { healthHandlers } from './health-handlers.ts';
import { hostHandlers } from './host-handlers.ts';
import type { HttpOptions } from './http-options.ts';
import { idempotentRequest, runOnce } from './idempotent.ts';
import { imageHandlers } from './image-handlers.ts';
import { networkHandlers } from './network-handlers.ts';
import { parseRequest } from './parse-request.ts';
import { planHandlers } from './plan-handlers.ts';
import { poolHandlers } from './pool-handlers.ts';
import { portHandlers } from './port-handlers.ts';
import { processHandlers } from './process-handlers.ts';
import { profileHandlers } from './profile-handlers.ts';
import { routeHandlers } from './route-handlers.ts';
import { eventHandlers, sandboxHandlers } from './sandbox-handlers.ts';
import { secretHandlers } from './secret-handlers.ts';
import { snapshotContentHandlers } from './snapshot-content-handlers.ts';
import { snapshotHandlers } from './snapshot-handlers.ts';
import { systemHandlers } from './system-handlers.ts';
import { toolHandlers } from './tool-handlers.ts';
import { typingStalledMs, uploadBody, uploadStalledMs } from './upload-body.ts';

/** Who calls a route that needs no key. */
const nobody: Caller = Object.freeze({ owner: { tenant: '', project: '', principal: '' }, scope: 'read', key: null });

const handlers: Handlers = {
  ...sandboxHandlers,
  ...processHandlers,
  ...fileHandlers,
  ...snapshotHandlers,
  ...snapshotContentHandlers,
  ...toolHandlers,
  ...portHandlers,
  ...eventHandlers,
  ...networkHandlers,
  ...planHandlers,
  ...buildHandlers,
  ...imageHandlers,
  ...poolHandlers,
  ...hostHandlers,
  ...healthHandlers,
  ...profileHandlers,
  ...routeHandlers,
  ...secretHandlers,
  ...systemHandlers,
};

/** One route of the table on the server: who calls, what they ask, and the answer as JSON or as bytes. */
export function registerRoute(app: FastifyInstance, context: ApiContext, options: HttpOptions, name: RouteName): void {
  const route: Route = routes[name];
  const definition: RouteOptions = {
    method: route.method,
    url: route.path.replace(/\{(\w+)\}/g, ':$1'),
    config: { route: name },
    // Before the body is read: what a stranger sends costs nothing.
    onRequest: async (request) => {
      if (route.scope === null) return;
      request.caller = await authenticate(options.listener, request.headers, context.keys);
      requireScope(request.caller, route.scope);
    },
    handler: async (request, reply) => {
      const call = callOf(route, request, reply, options);
      if (route.stream && !route.download && /\btext\/event-stream\b/.test(request.headers.accept ?? '')) {
        return followLive(name, request, reply, context, options, call);
      }
      const answer = await traced(name, context, request, () => run(name, route, context, request, call));
      if ('send' in answer) {
        const { caller } = call;
        request.sandbox = sandboxOf(request.params, undefined);
        return sendBytes(request, reply, answer, { ...options, caller, keys: context.keys });
      }
      request.sandbox = sandboxOf(request.params, answer.body);
      return reply.code(answer.status).type('application/json').send(JSON.stringify(answer.body));
    },
  };
  if (route.upload === undefined) app.route(definition);
  else app.register(async (uploads) => registerUpload(uploads, definition));
}

/** Its body is taken as it comes, whatever its media type says. */
function registerUpload(app: FastifyInstance, definition: RouteOptions): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.route(definition);
}

function callOf(route: Route, request: FastifyRequest, reply: FastifyReply, options: HttpOptions): Call<RouteName> {
  const { params, query, body } = parseRequest(route, request);
  const { raw } = reply;
  const { shutdown } = options;
  const onLeft = (leave: () => void) => {
    if (raw.destroyed || shutdown.aborted) return leave();
    shutdown.addEventListener('abort', leave, { once: true });
    raw.once('close', () => {
      shutdown.removeEventListener('abort', leave);
      if (!raw.writableFinished) leave();
    });
  };
  const onEnd = (end: () => void) => {
    if (raw.destroyed) end();
    else raw.once('close', end);
  };
  const stalledMs = request.routeOptions.config.route === 'process.stdin' ? typingStalledMs : uploadStalledMs;
  return {
    caller: request.caller ?? nobody,
    params,
    query,
    body: route.upload === undefined ? body : uploadBody(request.raw, stalledMs),
    headers: request.headers,
    shutdown,
    onLeft,
    onEnd,
  } as Call<RouteName>;
}

/** What a client says of its own trace is taken up; the rest of the request hangs below it. */
function traced<T>(
  name: RouteName,
  { spans }: ApiContext,
  request: FastifyRequest,
  work: () => Promise<T>,
): Promise<T> {
  if (!spans.isTraced) return work();
  const parent = readTraceParent(request.headers.traceparent);
  return spans.run(name, { 'http.route': request.routeOptions.url, request: request.id }, work, { entry: { parent } });
}

async function run(
  name: RouteName,
  route: Route,
  context: ApiContext,
  request: FastifyRequest,
  call: Call<RouteName>,
): Promise<Answer | ByteAnswer> {
  // The table ties each name to its handler; TypeScript cannot follow a name that is not a constant.
  const handler = handlers[name] as Handler<RouteName>;
  const key = route.idempotencyKey ? request.headers['idempotency-key'] : undefined;
  if (typeof key !== 'string') return handler(context, call);
  const idempotency = idempotentRequest(name, call.caller, key, call.params, request.body);
  const { waitSeconds = 60 } = (call.body ?? {}) as { waitSeconds?: number };
  const successStatus = 201 in route.responses ? 201 : 200;
  // Only routes whose answer is JSON take a key.
  return runOnce(
    context,
    idempotency,
    { waitSeconds, successStatus },
    () => handler(context, { ...call, idempotency }) as Promise<Answer>,
  );
}

function sandboxOf(params: unknown, body: unknown): string | undefined {
  for (const value of [params, body]) {
    const { id } = (value ?? {}) as { id?: unknown };
    if (isId('sandbox', id)) return id;
  }
  return undefined;
}
