import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { CaissonError } from '@caisson/contract';
import type { Guests } from '../sandbox/guests.ts';
import type { PortShare } from '../store/shared-ports.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Caller } from '../tenancy/caller.ts';
import type { Keys } from '../tenancy/keys.ts';
import { Access, type Verdict } from './access.ts';
import { passCookie } from './cookies.ts';
import { bodyOf, Exchange, type ExchangeEnd, type ExchangeFacts } from './exchange.ts';
import { addressKey } from './guess-limit.ts';
import { type LiveVisit, LiveVisits, type VisitBounds } from './live-visits.ts';
import { PortReach } from './port-reach.ts';
import type { PreviewAddresses, PreviewTarget } from './preview-address.ts';
import { nothingHere, refusalPage, visibleError } from './refusal-page.ts';
import { pathForPort } from './request-head.ts';
import type { KnownSandbox, SharedPorts } from './shared-ports.ts';
import type { PassSigner } from './signed-pass.ts';
import { Tunnel } from './tunnel.ts';
import { type Visitor, visitorOf } from './visitor.ts';

export interface PreviewDoorContext {
  readonly addresses: PreviewAddresses;
  readonly ports: SharedPorts;
  readonly guests: Guests;
  readonly keys: Keys;
  readonly signer: PassSigner;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly shutdown: AbortSignal;
  /** Addresses of proxies in front whose word about their clients counts. */
  readonly proxies: readonly string[];
  readonly bounds?: VisitBounds | undefined;
}

interface Asked {
  readonly target: PreviewTarget;
  readonly visitor: Visitor;
  readonly share: PortShare;
  readonly path: string;
  /** Whose key it came with. */
  readonly caller: Caller | undefined;
}

/** Where visitors of previews come in: who they are, whether they may, and on to the port. */
export class PreviewDoor {
  readonly #context: PreviewDoorContext;
  readonly #access: Access;
  readonly #reach: PortReach;
  readonly #live: LiveVisits;

  constructor(context: PreviewDoorContext) {
    this.#context = context;
    this.#access = new Access(context.signer, context.keys, context.addresses);
    this.#reach = new PortReach(context.ports, context.guests, context.shutdown);
    this.#live = new LiveVisits(context.bounds);
    context.ports.onClosed = (sandbox, port) => this.#live.cut(sandbox, port);
    context.shutdown.addEventListener('abort', () => this.#close(), { once: true });
  }

  /** The preview that a request is for. `byPath`: whether this listener serves the path form to this host. */
  find(request: IncomingMessage, byPath: boolean): PreviewTarget | undefined {
    const named = this.#context.addresses.byHost(request.headers.host);
    return named ?? (byPath ? this.#context.addresses.byPath(request.url ?? '') : undefined);
  }

  serve(target: PreviewTarget, request: IncomingMessage, response: ServerResponse): void {
    if (target.prefix !== '' && request.url?.charAt(target.prefix.length) !== '/')
      return void redirectToFolder(target, request, response);
    const begunAt = performance.now();
    response.once('finish', () =>
      this.#context.metrics.request('preview', response.statusCode, (performance.now() - begunAt) / 1000),
    );
    const refuse = (error: unknown) => this.#refuse(target, request, response, error);
    this.#ask(target, request, refuse, (asked, verdict) => {
      if (verdict.kind === 'enter') return this.#letIn(asked, response, request, verdict.until);
      this.#forward(asked, request, response);
    });
  }

  upgrade(target: PreviewTarget, request: IncomingMessage, stream: Duplex, head: Buffer): void {
    stream.on('error', () => {});
    const refuse = (error: unknown) => {
      const { status, headers, body } = refusalPage(visibleError(error, target.sandbox, target.port), request.headers);
      Tunnel.refuse(stream, status, headers, body);
    };
    this.#ask(target, request, refuse, (asked) => this.#tunnel(asked, request, stream, head, refuse));
  }

  /** Who asks and whether they may; without a wait where everything is known. */
  #ask(
    target: PreviewTarget,
    request: IncomingMessage,
    refuse: (error: unknown) => void,
    then: (asked: Asked, verdict: Verdict) => void,
  ): void {
    const { ports, proxies } = this.#context;
    const path = pathForPort(request.url ?? '', target.prefix);
    const visitor = visitorOf(request, target, proxies);
    const judge = (known: KnownSandbox | null) => {
      const share = known?.shares.get(target.port);
      const found = known && share ? { sandbox: known.sandbox, share } : undefined;
      const { headers, url = '', method = '' } = request;
      const verdict = this.#access.judge(target, found, { headers, url, method }, addressKey(visitor.address));
      const decide = (decided: Verdict) => {
        if (decided.kind === 'wait') return refuse(new CaissonError('rate_limited'));
        if (decided.kind === 'refused' || !share) return refuse(nothingHere());
        if (path === null)
          return refuse(new CaissonError('request_invalid', 'the target of the request is not a path'));
        const caller = decided.kind === 'in' ? decided.caller : undefined;
        then({ target, visitor, share, path, caller }, decided);
      };
      if (verdict instanceof Promise) return verdict.then(decide).catch(refuse);
      return decide(verdict);
    };
    const known = ports.peek(target.sandbox);
    if (known !== undefined) judge(known);
    else ports.load(target.sandbox).then(judge).catch(refuse);
  }

  /** Who came with a link or a token gets a cookie, and the same address without it. */
  #letIn({ target, visitor, share, path }: Asked, response: ServerResponse, request: IncomingMessage, until: number) {
    const value = this.#access.cookieFor(target, share, until);
    const seconds = Math.max(1, until - Math.floor(Date.now() / 1000));
    const secure = visitor.scheme === 'https' ? '; Secure' : '';
    const cookie = `${passCookie}=${value}; Path=${target.prefix}/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`;
    // One slash at its beginning: two would be another host.
    const location = `${target.prefix}${path.replace(/^\/+/, '/')}`;
    request.resume();
    const headers = ['location', location, 'set-cookie', cookie, 'cache-control', 'no-store', 'content-length', '0'];
    response.writeHead(303, [...headers, 'referrer-policy', 'no-referrer']);
    response.end();
  }

  #forward(asked: Asked, request: IncomingMessage, response: ServerResponse): void {
    const { target } = asked;
    const endVisit = this.#reach.visit(target.sandbox);
    const end: ExchangeEnd = {
      over: (connection) => {
        endVisit();
        endWatch();
        this.#live.leave(exchange);
        if (connection) this.#reach.giveBack(target, connection);
      },
      again: () => dial(),
      refuse: (error) => this.#refuse(target, request, response, error),
    };
    const exchange = new Exchange(
      request,
      response,
      this.#facts(asked, request),
      addressKey(asked.visitor.address),
      end,
    );
    let endWatch = () => {};
    const dial = () => {
      this.#reach.dial(target).then(
        (connection) => {
          if (exchange.isOver) connection.destroy();
          else exchange.run(connection);
        },
        (error) => exchange.failed(error, false),
      );
    };
    if (!this.#live.enter(exchange)) return void exchange.failed(new CaissonError('too_many_streams'), false);
    endWatch = this.#watch(asked.caller, exchange);
    const waiting = this.#reach.waiting(target, exchange.mayRepeat);
    if (waiting) exchange.run(waiting);
    else dial();
  }

  #tunnel(
    asked: Asked,
    request: IncomingMessage,
    stream: Duplex,
    head: Buffer,
    refuse: (error: unknown) => void,
  ): void {
    const { target } = asked;
    const endVisit = this.#reach.visit(target.sandbox);
    const facts = { ...this.#facts(asked, request), body: 'none' as const, upgrade: request.headers.upgrade ?? '' };
    const tunnel = new Tunnel(stream, head, facts, addressKey(asked.visitor.address), {
      refuse,
      over: () => {
        endVisit();
        endWatch();
        this.#live.leave(tunnel);
      },
    });
    let endWatch = () => {};
    if (!this.#live.enter(tunnel)) return void tunnel.failed(new CaissonError('too_many_streams'));
    endWatch = this.#watch(asked.caller, tunnel);
    this.#reach.dial(target).then(
      (connection) => tunnel.run(connection),
      (error) => tunnel.failed(error),
    );
  }

  /** What came with a key ends with it; gives how to stop looking. */
  #watch(caller: Caller | undefined, visit: LiveVisit): () => void {
    if (!caller) return () => {};
    let stop = () => {};
    let isOver = false;
    this.#context.keys.watch(caller).then(
      (key) => {
        stop = key.stop;
        if (isOver) return stop();
        if (key.signal.aborted) visit.cut();
        else key.signal.addEventListener('abort', () => visit.cut(), { once: true });
      },
      () => visit.cut(),
    );
    return () => {
      isOver = true;
      stop();
    };
  }

  #facts({ target, visitor, share, path }: Asked, request: IncomingMessage): ExchangeFacts {
    const outsideHost = request.headers.host ?? '';
    const { hostHeader } = share;
    const local = hostHeader === 'port' ? `localhost:${target.port}` : hostHeader;
    return {
      method: request.method ?? 'GET',
      path,
      rawHeaders: request.rawHeaders,
      target,
      host: hostHeader === 'preview' ? outsideHost : local,
      remoteAddress: visitor.address,
      scheme: visitor.scheme,
      outsideHost,
    };
  }

  #refuse(target: PreviewTarget, request: IncomingMessage, response: ServerResponse, error: unknown): void {
    if (response.headersSent || response.destroyed) return void response.destroy();
    const told = visibleError(error, target.sandbox, target.port);
    if (told.code === 'internal') this.#context.log.error({ err: error }, 'a preview broke');
    const { status, headers, body } = refusalPage(told, request.headers);
    // What was refused is not read to its end either.
    const isRead = request.complete || bodyOf(request) === 'none';
    response.writeHead(status, isRead ? [...headers] : [...headers, 'connection', 'close']);
    response.end(request.method === 'HEAD' ? undefined : body);
  }

  /** Requests may end by themselves for a moment; what lasts does not keep the server. */
  #close(): void {
    this.#reach.close();
    setTimeout(() => this.#live.cutAll(), this.#live.count === 0 ? 0 : closeMs);
  }
}

const closeMs = 500;

/** Names in a page are relative to the folder that it is in: without its slash the port would not be one. */
function redirectToFolder({ prefix }: PreviewTarget, request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  const location = `${prefix}/${(request.url ?? '').slice(prefix.length)}`;
  response.writeHead(308, ['location', location, 'content-length', '0']);
  response.end();
}
