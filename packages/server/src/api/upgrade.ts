import { type IncomingHttpHeaders, type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  CaissonError,
  problemMediaType,
  type Route,
  routeNames,
  routes,
  toProblem,
  type WebSocketRouteName,
  webSocketKeyPrefix,
  webSocketProtocol,
} from '@caisson/contract';
import type { FastifyInstance } from 'fastify';
import { WebSocketServer } from 'ws';
import { ignoreUpgrade, isIdleOffer } from '../preview/ignore-upgrade.ts';
import { type Caller, callerName, requireScope } from '../tenancy/caller.ts';
import { AttachedSocket, maxMessageBytes } from './attached-socket.ts';
import { auditAnswer, auditProblem } from './audited.ts';
import { authenticate } from './authenticate.ts';
import type { ApiContext, SocketHandler } from './handler.ts';
import { guardHost, isOwnHost } from './host-guard.ts';
import type { HttpOptions } from './http-options.ts';
import { liveStreams } from './open-streams.ts';
import { parseRequest } from './parse-request.ts';
import { translate } from './problem-reply.ts';
import { socketHandlers } from './socket-handlers.ts';

const socketRoutes = routeNames
  .filter((name): name is WebSocketRouteName => (routes[name] as Route).webSocket === true)
  .map((name) => ({ name, pattern: new RegExp(`^${routes[name].path.replace(/\{(\w+)\}/g, '(?<$1>[^/]{1,100})')}$`) }));

/** WebSockets on the listener of the rest: the same guard, the same keys, scopes and owners, before there is a socket. */
export function acceptUpgrades(app: FastifyInstance, context: ApiContext, options: HttpOptions): void {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: maxMessageBytes,
    perMessageDeflate: false,
    // Never the one with the key: an answer must not repeat it.
    handleProtocols: (offered) => (offered.has(webSocketProtocol) ? webSocketProtocol : false),
  });
  app.server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    const { previews, listener, allowHosts } = options;
    const preview = previews?.find(request, isOwnHost(listener, request.headers, allowHosts));
    if (previews && preview && !isIdleOffer(request)) return previews.upgrade(preview, request, stream, head);
    if (request.headers.upgrade?.toLowerCase() !== 'websocket' || preview)
      return ignoreUpgrade(app.server, request, stream, head);
    stream.on('error', () => {});
    const seen: Seen = { raw: request };
    upgrade(server, context, options, seen, stream, head).catch((error) => {
      const problem = translate(error, options.log, 'upgrade');
      auditProblem(context.audit, listener, seen.name, seen.name && routes[seen.name], seen, problem);
      refuse(stream, problem);
    });
  });
}

/** What is known by now of who asks for what. */
interface Seen {
  readonly raw: IncomingMessage;
  name?: WebSocketRouteName;
  params?: unknown;
  caller?: Caller;
}

async function upgrade(
  server: WebSocketServer,
  context: ApiContext,
  options: HttpOptions,
  seen: Seen,
  stream: Duplex,
  head: Buffer,
): Promise<void> {
  const request = seen.raw;
  guardHost(options.listener, request.headers, options.allowHosts);
  const [path = '', query = ''] = (request.url ?? '').split('?', 2);
  const { name, params } = findRoute(path);
  seen.name = name;
  seen.params = params;
  const route: Route = routes[name];
  const caller = await authenticate(options.listener, withKey(request.headers), context.keys);
  seen.caller = caller;
  if (route.scope !== null) requireScope(caller, route.scope);
  const parsed = parseRequest(route, {
    params,
    query: Object.fromEntries(new URLSearchParams(query)),
    body: undefined,
  });
  const { headers } = request;
  const { shutdown } = options;
  const who = callerName(caller);
  // The table ties each name to its handler; TypeScript cannot follow a name that is not a constant.
  const handler = socketHandlers[name] as SocketHandler<WebSocketRouteName>;
  const onEnd = (end: () => void) => {
    if (stream.destroyed) end();
    else stream.once('close', end);
  };
  const call = { caller, headers, shutdown, onEnd, ...parsed } as Parameters<typeof handler>[1];
  const use = await handler(context, call);
  liveStreams.requireRoom(who);
  const key = await context.keys.watch(caller);
  // It may have left meanwhile; its `close` has passed by then.
  if (stream.destroyed) return key.stop();
  const leave = liveStreams.enter(who);
  stream.once('close', () => {
    key.stop();
    leave();
  });
  auditAnswer(context.audit, options.listener, name, route, seen, caller, { status: 101 });
  server.handleUpgrade(request, stream, head, (webSocket) => {
    const until = [shutdown, key.signal];
    if (use.kind === 'bytes') return use.take(webSocket, until);
    const socket = new AttachedSocket(webSocket, until);
    use.take(socket).catch((error) => {
      options.log.warn({ err: error }, 'an attachment broke');
      socket.fail(error);
    });
  });
}

/** A browser cannot send headers with a WebSocket; it offers its key as a protocol. */
function withKey(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  if (headers.authorization !== undefined) return headers;
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  const key = offered.find((name) => name.startsWith(webSocketKeyPrefix));
  return key === undefined ? headers : { ...headers, authorization: `Bearer ${key.slice(webSocketKeyPrefix.length)}` };
}

function findRoute(path: string): { name: WebSocketRouteName; params: Record<string, string> } {
  for (const { name, pattern } of socketRoutes) {
    const match = pattern.exec(path);
    if (match) return { name, params: { ...match.groups } };
  }
  throw new CaissonError('route_not_found', `there is no WebSocket ${path.slice(0, 200)}`);
}

/** How long a client may take to read why it was refused. */
const refusalMs = 5_000;

function refuse(stream: Duplex, error: CaissonError): void {
  if (!stream.writable) return void stream.destroy();
  const body = JSON.stringify(toProblem(error));
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}`,
    'connection: close',
    `content-type: ${problemMediaType}`,
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  // Node times no socket that was to be upgraded: without this, one whose peer does not close would stay for ever.
  stream.once('finish', () => stream.destroy());
  setTimeout(() => stream.destroy(), refusalMs).unref();
  stream.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
