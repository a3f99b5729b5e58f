import { byteForms, CaissonError, type Route, webSocketKeyPrefix, webSocketProtocol } from '@caisson/contract';
import { type QueryValue, requestUrl } from './request-url.ts';
import { globalWebSocket, type WebSocketFactory, type WebSocketLike } from './web-socket.ts';

/** What can be sent as it is. */
export type Bytes = Uint8Array | ArrayBuffer | Blob | string | ReadableStream<Uint8Array>;

/** As much of a `Response` as is read here; what carries requests need not have more of it. */
export type FetchAnswer = Pick<Response, 'ok' | 'status' | 'body' | 'arrayBuffer' | 'json' | 'text'> & {
  readonly headers: Pick<Headers, 'get'>;
};

export type Fetch = (url: string, init: RequestInit) => Promise<FetchAnswer>;

export interface CaissonOptions {
  /** Where the server listens. In a browser the page's own origin when absent, else {@link defaultBaseUrl}. */
  readonly baseUrl?: string | undefined;
  /** A key of `caisson keys create`. The machine's own user needs none until there is one. */
  readonly apiKey?: string | undefined;
  /** What carries requests: another implementation, or one over a unix socket. */
  readonly fetch?: Fetch | undefined;
  /** What opens WebSockets, where there is no global one (Node 20), or over a unix socket. Without any, requests are used. */
  readonly webSocket?: WebSocketFactory | undefined;
  /** How often a request is repeated where that is safe; 0 never repeats. */
  readonly retries?: number | undefined;
}

/** Where `caisson serve --listen 7300` listens. */
export const defaultBaseUrl = 'http://127.0.0.1:7300';

/** One request without its repetitions. */
export interface Message {
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  readonly query?: Readonly<Record<string, QueryValue>> | undefined;
  readonly body?: unknown;
  /** A body that is sent as it is, instead of JSON. */
  readonly bytes?: Bytes | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Carries one message to the server. Whatever goes wrong on the way is one of our errors, or the caller's own abort. */
export class Transport {
  readonly baseUrl: string;
  readonly #fetch: Fetch;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #webSocket: WebSocketFactory | undefined;
  readonly #apiKey: string | undefined;

  constructor(options: CaissonOptions) {
    this.baseUrl = readBaseUrl(options.baseUrl ?? ownOrigin() ?? defaultBaseUrl);
    // A browser's fetch must be called as a method of the window.
    this.#fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
    this.#headers = options.apiKey === undefined ? {} : { authorization: `Bearer ${readKey(options.apiKey)}` };
    this.#apiKey = options.apiKey;
    this.#webSocket = options.webSocket ?? globalWebSocket();
  }

  /** Undefined where there are no WebSockets. A browser cannot send headers with one, so the key goes as a protocol. */
  openSocket(route: Route, message: Pick<Message, 'params' | 'query'>): WebSocketLike | undefined {
    const url = requestUrl(this.baseUrl, route, message.params ?? {}, message.query ?? {}).replace(/^http/, 'ws');
    const key = this.#apiKey === undefined ? [] : [`${webSocketKeyPrefix}${this.#apiKey}`];
    const socket = this.#webSocket?.(url, [webSocketProtocol, ...key]);
    if (socket !== undefined) socket.binaryType = 'arraybuffer';
    return socket;
  }

  async send(route: Route, message: Message): Promise<FetchAnswer> {
    const url = requestUrl(this.baseUrl, route, message.params ?? {}, message.query ?? {});
    const json = message.body === undefined ? undefined : JSON.stringify(message.body);
    const body = message.bytes ?? json;
    const type = message.bytes === undefined ? 'application/json' : byteForms[route.upload ?? 'bytes'];
    const headers = {
      accept: 'application/json',
      ...this.#headers,
      ...(body === undefined ? {} : { 'content-type': type }),
      ...message.headers,
    };
    message.signal?.throwIfAborted();
    try {
      return await this.#fetch(url, {
        method: route.method,
        headers,
        // The API never redirects, and a repeated POST would arrive as something else.
        redirect: 'error',
        ...(body === undefined ? {} : ({ body, duplex: 'half' } as RequestInit)),
        ...(message.signal === undefined ? {} : { signal: message.signal }),
      });
    } catch (error) {
      throw this.failure(error, message.signal);
    }
  }

  /** What a failure of `fetch` or of reading its answer means. */
  failure(error: unknown, signal: AbortSignal | undefined): unknown {
    if (signal?.aborted) return signal.reason;
    if (error instanceof CaissonError) return error;
    return new CaissonError('server_unreachable', `cannot reach ${this.baseUrl}: ${lastCause(error)}`, {
      cause: error,
    });
  }
}

function ownOrigin(): string | undefined {
  const page = (globalThis as { location?: { origin?: unknown } }).location?.origin;
  return typeof page === 'string' && page.startsWith('http') ? page : undefined;
}

function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const plain = url && url.search === '' && url.hash === '' && url.username === '' && url.password === '';
  if (!plain || !/^https?:$/.test(url.protocol)) {
    throw new CaissonError('request_invalid', 'the address of the server is not valid', {
      hint: 'Write it as http://host:port or https://host, without a user, a query or a fragment.',
    });
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** `fetch` would name the whole header, and so the key, in its complaint. */
function readKey(key: string): string {
  if (/^[\x21-\x7e]{1,200}$/.test(key)) return key;
  throw new CaissonError('unauthenticated', 'the API key has characters that no key has', {
    hint: 'Check for spaces and line breaks around it.',
  });
}

/** `fetch` only says "fetch failed"; what failed is at the end of the causes. */
function lastCause(error: unknown): string {
  let last = error;
  for (let depth = 0; depth < 5 && last instanceof Error && last.cause instanceof Error; depth += 1) last = last.cause;
  if (!(last instanceof Error)) return String(last);
  // Trying several addresses gives one error without words of its own.
  if (last instanceof AggregateError && last.message === '') return lastCause(last.errors[0]);
  return last.message;
}
