import { CaissonError, isId, newId, type Route, type RouteName, routeNames, routes } from '@caisson/contract';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify, type RouteOptions } from 'fastify';
import { readDocument } from '../documents/read-document.ts';
import type { Logger } from '../telemetry/log.ts';
import { type Caller, requireScope } from '../tenancy/caller.ts';
import { authenticate } from './authenticate.ts';
import { limitBody } from './body-deadline.ts';
import { sendBytes } from './byte-answer.ts';
import { docsPage } from './docs-page.ts';
import { fileHandlers } from './file-handlers.ts';
import { followEvents } from './follow-events.ts';
import type { Answer, ApiContext, ByteAnswer, Call, Handler, Handlers } from './handler.ts';
import { registerHealth } from './health.ts';
import { guardHost } from './host-guard.ts';
import { idempotentRequest, runOnce } from './idempotent.ts';
import type { Listener } from './listener.ts';
import { openApi } from './openapi.ts';
import { parseRequest } from './parse-request.ts';
import { sendProblem, translate } from './problem-reply.ts';
import { processHandlers } from './process-handlers.ts';
import { refuseConnection } from './refuse-connection.ts';
import { eventHandlers, sandboxHandlers } from './sandbox-handlers.ts';
import { trackSilentConnections } from './silent-connections.ts';
import { systemHandlers } from './system-handlers.ts';
import { acceptUpgrades } from './upgrade.ts';
import { typingStalledMs, uploadBody, uploadStalledMs } from './upload-body.ts';

/** A spec of a megabyte is refused by its own bounds; what is around it is small. */
const bodyLimit = 1_500_000;
/** A client that takes longer than this to send its request is stuck or means harm. */
const defaultRequestTimeoutMs = 30_000;
const maxHeaderBytes = 16_384;
/** The page of the docs has a style of its own and nothing else. */
const pagePolicy = "default-src 'none'; style-src 'unsafe-inline'";

export interface HttpOptions {
  readonly listener: Listener;
  readonly allowHosts: readonly string[];
  readonly log: Logger;
  /** Ends the streams, which would otherwise keep the server from closing. */
  readonly shutdown: AbortSignal;
  /** How long a client may take to send its request. */
  readonly requestTimeoutMs?: number | undefined;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    route?: string;
  }
  interface FastifyRequest {
    /** Who sends it, where the route needs to know. */
    caller: Caller | undefined;
    /** The sandbox that the request is about, for its line in the log. */
    sandbox: string | undefined;
  }
}

/** Who calls a route that needs no key. */
const nobody: Caller = Object.freeze({ owner: { tenant: '', project: '', principal: '' }, scope: 'read', key: null });

const handlers: Handlers = {
  ...sandboxHandlers,
  ...processHandlers,
  ...fileHandlers,
  ...eventHandlers,
  ...systemHandlers,
};

/** One HTTP server for one listener: parse → call → render, nothing else. */
export function createHttp(context: ApiContext, options: HttpOptions): FastifyInstance {
  const { listener, allowHosts, log, requestTimeoutMs = defaultRequestTimeoutMs } = options;
  const app = fastify({
    bodyLimit,
    // Each body is timed by its route: an upload may take as long as it goes on.
    requestTimeout: 0,
    connectionTimeout: 0,
    keepAliveTimeout: 60_000,
    http: {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: requestTimeoutMs,
      connectionsCheckingInterval: Math.min(requestTimeoutMs, 10_000),
    },
    genReqId: requestIds(),
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    clientErrorHandler: refuseConnection,
    frameworkErrors: (error, request, reply) =>
      sendProblem(reply as FastifyReply, request as FastifyRequest, translate(error, log, request.id)),
    logger: false,
  });
  app.decorateRequest('sandbox', undefined);
  app.decorateRequest('caller', undefined);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, app.getDefaultJsonParser('error', 'error'));
  app.addContentTypeParser(
    ['application/yaml', 'application/x-yaml', 'text/yaml'],
    { parseAs: 'string' },
    async (_: FastifyRequest, body: string) => readDocument(body, 'body_malformed', 'the body'),
  );
  app.addHook('onRequest', async (request) => guardHost(listener, request.headers, allowHosts));
  app.addHook('onResponse', async (request, reply) => observe(context, log, request, reply));
  app.setErrorHandler((error, request, reply) => sendProblem(reply, request, translate(error, log, request.id)));
  app.setNotFoundHandler((request, reply) => sendProblem(reply, request, unknownRoute(request)));
  for (const name of routeNames) register(app, context, options, name);
  acceptUpgrades(app, context, options);
  const endSilent = trackSilentConnections(app.server);
  app.addHook('preClose', async () => endSilent());
  registerHealth(app, context);
  let document: string | undefined;
  app.get('/v1/openapi.json', (_, reply) => {
    document ??= JSON.stringify(openApi(context.version));
    return reply.type('application/json').send(document);
  });
  let page: string | undefined;
  app.get('/docs', (_, reply) => {
    page ??= docsPage(context.version);
    return reply.type('text/html').header('content-security-policy', pagePolicy).send(page);
  });
  return app;
}

/** One random id for the process and a count: as good as a new one each time, at a tenth of its cost. */
function requestIds(): () => string {
  const prefix = newId('request').slice(0, -7);
  let count = 0;
  return () => {
    count += 1;
    return `${prefix}${count.toString(36).padStart(7, '0')}`;
  };
}

function register(app: FastifyInstance, context: ApiContext, options: HttpOptions, name: RouteName): void {
  const route: Route = routes[name];
  const bodyMs = options.requestTimeoutMs ?? defaultRequestTimeoutMs;
  const definition: RouteOptions = {
    method: route.method,
    url: route.path.replace(/\{(\w+)\}/g, ':$1'),
    config: { route: name },
    // Before the body is read: what a stranger sends costs nothing.
    onRequest: async (request) => {
      if (route.upload === undefined) limitBody(request, bodyMs);
      if (route.scope === null) return;
      request.caller = await authenticate(options.listener, request.headers, context.keys);
      requireScope(request.caller, route.scope);
    },
    handler: async (request, reply) => {
      const call = callOf(route, request, reply, options);
      if (route.stream && !route.download && /\btext\/event-stream\b/.test(request.headers.accept ?? '')) {
        return followEvents(request, reply, context, options, call);
      }
      const answer = await run(name, route, context, request, call);
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
  const stalledMs = request.routeOptions.config.route === 'process.stdin' ? typingStalledMs : uploadStalledMs;
  return {
    caller: request.caller ?? nobody,
    params,
    query,
    body: route.upload === undefined ? body : uploadBody(request.raw, stalledMs),
    headers: request.headers,
    shutdown,
    onLeft,
  } as Call<RouteName>;
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

function unknownRoute(request: FastifyRequest): CaissonError {
  const path = request.url.split('?', 1)[0]?.slice(0, 200);
  return new CaissonError('route_not_found', `there is no route ${request.method} ${path}`);
}

function sandboxOf(params: unknown, body: unknown): string | undefined {
  for (const value of [params, body]) {
    const { id } = (value ?? {}) as { id?: unknown };
    if (isId('sandbox', id)) return id;
  }
  return undefined;
}

function observe(context: ApiContext, log: Logger, request: FastifyRequest, reply: FastifyReply): void {
  const { route } = request.routeOptions.config;
  const seconds = reply.elapsedTime / 1000;
  const name = route ?? 'other';
  context.metrics.request(name, reply.statusCode, seconds);
  const level = reply.statusCode >= 500 ? 'warn' : request.method === 'GET' ? 'debug' : 'info';
  log[level](
    {
      request: request.id,
      route: name,
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 100) / 100,
      sandbox: request.sandbox,
    },
    'request',
  );
}
