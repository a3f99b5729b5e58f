import { createServer } from 'node:http';
import { CaissonError, newId, type RouteName, routeNames, routes } from '@caisson/contract';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { readDocument } from '../documents/read-document.ts';
import { takePreviews } from '../preview/take-previews.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Caller } from '../tenancy/caller.ts';
import { auditProblem } from './audited.ts';
import { limitBody } from './body-deadline.ts';
import { docsPage } from './docs-page.ts';
import type { ApiContext } from './handler.ts';
import { registerHealth } from './health.ts';
import { guardHost, isOwnHost } from './host-guard.ts';
import { defaultRequestTimeoutMs, type HttpOptions } from './http-options.ts';
import { openApi } from './openapi.ts';
import { isUpload, sendProblem, translate } from './problem-reply.ts';
import { refuseConnection } from './refuse-connection.ts';
import { registerRoute } from './register-route.ts';
import { trackSilentConnections } from './silent-connections.ts';
import { acceptUpgrades } from './upgrade.ts';

/** A spec of a megabyte is refused by its own bounds; what is around it is small. */
const bodyLimit = 1_500_000;
const maxHeaderBytes = 16_384;
/** The page of the docs has a style of its own and nothing else. */
const pagePolicy = "default-src 'none'; style-src 'unsafe-inline'";

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

/** One HTTP server for one listener: parse → call → render, nothing else. */
export function createHttp(context: ApiContext, options: HttpOptions): FastifyInstance {
  const { listener, allowHosts, log, requestTimeoutMs = defaultRequestTimeoutMs } = options;
  const app = fastify({
    bodyLimit,
    serverFactory: (handle) => {
      const server = createServer({
        maxHeaderSize: maxHeaderBytes,
        headersTimeout: requestTimeoutMs,
        connectionsCheckingInterval: Math.min(requestTimeoutMs, 10_000),
        // Each body is timed by its route: an upload may take as long as it goes on.
        requestTimeout: 0,
        keepAliveTimeout: 60_000,
      });
      takePreviews(server, options.previews, ({ headers }) => isOwnHost(listener, headers, allowHosts), handle);
      return server;
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
  app.addHook('onRequest', async (request, reply) => {
    guardHost(listener, request.headers, allowHosts);
    if (!isUpload(request)) limitBody(request, reply, requestTimeoutMs);
  });
  app.addHook('onResponse', async (request, reply) => observe(context, log, request, reply));
  app.setErrorHandler((error, request, reply) => {
    const problem = translate(error, log, request.id);
    const name = request.routeOptions.config.route as RouteName | undefined;
    context.metrics.service.refused(problem.code);
    auditProblem(context.audit, listener, name, name && routes[name], request, problem);
    return sendProblem(reply, request, problem);
  });
  app.setNotFoundHandler((request, reply) => sendProblem(reply, request, unknownRoute(request)));
  for (const name of routeNames) registerRoute(app, context, options, name);
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

function unknownRoute(request: FastifyRequest): CaissonError {
  const path = request.url.split('?', 1)[0]?.slice(0, 200);
  return new CaissonError('route_not_found', `there is no route ${request.method} ${path}`);
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
