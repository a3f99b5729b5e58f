import { CaissonError, type Route } from '@caisson/contract';
import { type QueryValue, requestUrl } from './request-url.ts';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface CaissonOptions {
  /** Where the server listens. In a browser the page's own origin when absent, else {@link defaultBaseUrl}. */
  readonly baseUrl?: string | undefined;
  /** A key of `caisson keys create`. The machine's own user needs none until there is one. */
  readonly apiKey?: string | undefined;
  /** What carries requests: another implementation, or one over a unix socket. */
  readonly fetch?: Fetch | undefined;
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
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Carries one message to the server. Whatever goes wrong on the way is one of our errors, or the caller's own abort. */
export class Transport {
  readonly baseUrl: string;
  readonly #fetch: Fetch;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(options: CaissonOptions) {
    this.baseUrl = readBaseUrl(options.baseUrl ?? ownOrigin() ?? defaultBaseUrl);
    // A browser's fetch must be called as a method of the window.
    this.#fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
    this.#headers = options.apiKey === undefined ? {} : { authorization: `Bearer ${readKey(options.apiKey)}` };
  }

  async send(route: Route, message: Message): Promise<Response> {
    const url = requestUrl(this.baseUrl, route, message.params ?? {}, message.query ?? {});
    const body = message.body === undefined ? undefined : JSON.stringify(message.body);
    const headers = {
      accept: 'application/json',
      ...this.#headers,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...message.headers,
    };
    message.signal?.throwIfAborted();
    try {
      return await this.#fetch(url, {
        method: route.method,
        headers,
        // The API never redirects, and a repeated POST would arrive as something else.
        redirect: 'error',
        ...(body === undefined ? {} : { body }),
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
