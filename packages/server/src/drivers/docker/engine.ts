import {
  Agent,
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from 'node:http';
import { type Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type * as z from 'zod';
import { connectTo, type Endpoint, endpointText } from './endpoint.ts';
import { foreign, refusal, unanswered } from './engine-error.ts';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface CallOptions<T = unknown> {
  readonly query?: Query | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly signal: AbortSignal;
  /** How long it may take. An engine that hangs is found out by this alone. */
  readonly withinMs?: number | undefined;
  /** Statuses of refusals that the caller knows what to do with. */
  readonly accept?: readonly number[] | undefined;
  /** How the answer must look, unless it is such a refusal. */
  readonly form?: z.ZodType<T> | undefined;
}

export interface Answer<T> {
  readonly status: number;
  /** Of the form that was asked for; without one, and with a refusal that was accepted, whatever came. */
  readonly body: T;
  readonly headers: IncomingMessage['headers'];
}

/** What most calls take is milliseconds; a machine under load starts a container in seconds. */
const defaultMs = 30_000;
/** Between two calls of one action there is less. */
const idleMs = 10_000;
/** No answer that is read whole is longer: a list of ten thousand containers fits. */
const answerBytesMax = 64 * 1024 * 1024;

/**
 * The Engine API over HTTP, on whatever stream leads to the engine. By hand: what is needed are twenty plain calls with
 * deadlines and one upgraded stream, and the libraries for it bring a gRPC stack and an ssh that trusts every host.
 */
export class Engine {
  readonly where: string;
  readonly #endpoint: Endpoint;
  readonly #dialStdio: readonly string[];
  readonly #agent: Agent;

  constructor(endpoint: Endpoint, dialStdio: readonly string[]) {
    this.where = endpointText(endpoint);
    this.#endpoint = endpoint;
    this.#dialStdio = dialStdio;
    // An ssh session is a process, and takes long to begin: few of them wait for the next call, and not for long.
    const isSsh = endpoint.kind === 'ssh';
    this.#agent = new Agent({ keepAlive: true, maxFreeSockets: isSsh ? 2 : 8 });
    Object.assign(this.#agent, { createConnection: () => this.#connect(), ...(isSsh ? idleEnds(this.#agent) : {}) });
  }

  /** A call whose answer is JSON, or text where it is none. */
  async call<T = unknown>(method: string, path: string, options: CallOptions<T>): Promise<Answer<T>> {
    return this.#within(options, async (signal) => {
      const json = options.body === undefined ? undefined : Buffer.from(JSON.stringify(options.body));
      const headers = json ? { 'content-type': 'application/json', 'content-length': json.length } : {};
      const response = await this.#send(method, path, options.query, headers, json, signal);
      return this.#formed(`${method} ${path}`, await this.#answer(response, options.accept, signal), options.form);
    });
  }

  /** The same with a body of any length, whose form is a tar. */
  async upload(
    method: string,
    path: string,
    content: AsyncIterable<Uint8Array> | Buffer,
    options: Omit<CallOptions, 'body' | 'form'>,
  ): Promise<Answer<unknown>> {
    return this.#within(options, async (signal) => {
      const headers = {
        'content-type': 'application/x-tar',
        ...(Buffer.isBuffer(content) ? { 'content-length': content.length } : { 'transfer-encoding': 'chunked' }),
      };
      const response = await this.#send(method, path, options.query, headers, content, signal);
      return this.#answer(response, options.accept, signal);
    });
  }

  /** A call whose answer is a stream of bytes. The deadline is for its beginning; the signal ends it at any time. */
  async download(path: string, options: Omit<CallOptions, 'body'>): Promise<Readable> {
    return this.#within(options, async (signal) => {
      const response = await this.#send('GET', path, options.query, {}, undefined, options.signal);
      if ((response.statusCode ?? 0) < 400) return response;
      await this.#answer(response, [], signal);
      throw refusal(this.where, 501, 'it has no such answer');
    });
  }

  /** A call that ends in a stream of bytes in both directions. */
  async upgrade(path: string, options: CallOptions, protocol = 'tcp'): Promise<Duplex> {
    return this.#within(options, async (signal) => {
      // Without one there must be none at all: an engine may take it for the first bytes of the stream.
      const json = options.body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(options.body));
      const type = json.length === 0 ? {} : { 'content-type': 'application/json' };
      const headers = { ...type, 'content-length': json.length, connection: 'Upgrade', upgrade: protocol };
      const { stream, response } = await this.#sendForUpgrade(path, options.query, headers, json, signal);
      if (stream) return stream;
      await this.#answer(response, [], signal);
      throw refusal(this.where, 501, 'it does not upgrade its connections');
    });
  }

  close(): void {
    this.#agent.destroy();
  }

  #connect(): Duplex {
    const stream = connectTo(this.#endpoint, this.#dialStdio);
    // A request listens for itself; between two of them nobody does.
    stream.on('error', () => {});
    return stream;
  }

  async #within<T>(
    { signal, withinMs = defaultMs }: Pick<CallOptions, 'signal' | 'withinMs'>,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const deadline = AbortSignal.timeout(withinMs);
    try {
      return await work(AbortSignal.any([signal, deadline]));
    } catch (error) {
      signal.throwIfAborted();
      throw unanswered(this.#endpoint, error, deadline.aborted ? withinMs : undefined);
    }
  }

  #options(method: string, path: string, query: Query | undefined, headers: OutgoingHttpHeaders, signal: AbortSignal) {
    const words = Object.entries(query ?? {}).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)] as [string, string]],
    );
    const search = words.length === 0 ? '' : `?${new URLSearchParams(words)}`;
    // The engine compares the name with nothing; a path of a socket would not be one.
    return { method, path: `${path}${search}`, headers: { host: 'engine', ...headers }, signal, setHost: false };
  }

  #send(
    method: string,
    path: string,
    query: Query | undefined,
    headers: OutgoingHttpHeaders,
    content: Buffer | AsyncIterable<Uint8Array> | undefined,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const sent = httpRequest({ ...this.#options(method, path, query, headers, signal), agent: this.#agent });
      sent.on('response', resolve);
      sent.on('error', reject);
      if (content === undefined || Buffer.isBuffer(content)) sent.end(content);
      // An engine that refuses what is being sent answers first and then closes: its answer is the one to tell.
      else pipeline(Readable.from(content), sent).catch((error) => setImmediate(reject, error));
    });
  }

  #sendForUpgrade(
    path: string,
    query: Query | undefined,
    headers: OutgoingHttpHeaders,
    content: Buffer,
    signal: AbortSignal,
  ): Promise<{ stream: Duplex; response?: never } | { stream?: never; response: IncomingMessage }> {
    return new Promise((resolve, reject) => {
      // The signal ends the request, not the stream that comes of it.
      const { signal: _, ...options } = this.#options('POST', path, query, headers, signal);
      const sent = httpRequest({ ...options, createConnection: () => this.#connect() });
      const abort = () => sent.destroy(signal.reason);
      signal.addEventListener('abort', abort, { once: true });
      const settled = () => signal.removeEventListener('abort', abort);
      sent.on('upgrade', (_response, stream, head) => {
        settled();
        if (head.length > 0) stream.unshift(head);
        resolve({ stream });
      });
      sent.on('response', (response) => {
        settled();
        resolve({ response });
      });
      sent.on('error', (error) => {
        settled();
        reject(error);
      });
      sent.end(content);
    });
  }

  async #answer(
    response: IncomingMessage,
    accept: readonly number[] = [],
    signal: AbortSignal,
  ): Promise<Answer<unknown>> {
    const chunks: Buffer[] = [];
    let size = 0;
    const end = () => response.destroy(signal.reason);
    signal.addEventListener('abort', end, { once: true });
    try {
      for await (const chunk of response as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > answerBytesMax) throw new Error('its answer is longer than any answer should be');
        chunks.push(chunk);
      }
    } finally {
      signal.removeEventListener('abort', end);
    }
    const { statusCode: status = 0, headers } = response;
    const bytes = Buffer.concat(chunks, size);
    // Not every engine says of all its documents that they are ones.
    const isJson =
      /json|text\/plain/.test(headers['content-type'] ?? 'json') && /^[{[]/.test(bytes.toString('latin1', 0, 1));
    const body = isJson ? parse(bytes) : bytes;
    if (status >= 400 && !accept.includes(status)) throw refusal(this.where, status, wordsOf(body));
    return { status, body, headers };
  }

  #formed<T>(call: string, { status, body, headers }: Answer<unknown>, form: z.ZodType<T> | undefined): Answer<T> {
    // Without a form it is the caller who knows what comes; an accepted refusal is looked at by its status alone.
    if (form === undefined || status >= 300) return { status, body: body as T, headers };
    const read = form.safeParse(body);
    if (read.success) return { status, body: read.data, headers };
    const [issue] = read.error.issues;
    const where = issue?.path.join('.') || 'the answer';
    throw foreign(
      this.where,
      call,
      Buffer.isBuffer(body) ? 'something that is no JSON' : `${where}: ${issue?.message}`,
    );
  }
}

/** How an agent keeps streams that know nothing of sockets: the ones that nobody uses end after a while. */
function idleEnds(agent: Agent) {
  const timers = new WeakMap<Duplex, NodeJS.Timeout>();
  return {
    keepSocketAlive(stream: Duplex): boolean {
      timers.set(stream, setTimeout(() => stream.destroy(), idleMs).unref());
      return true;
    },
    reuseSocket(stream: Duplex, request: ClientRequest): void {
      clearTimeout(timers.get(stream));
      Agent.prototype.reuseSocket.call(agent, stream, request);
    },
  };
}

/** A list of events is one document a line, which is not JSON; who asked for it reads the bytes. */
function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return bytes;
  }
}

export function wordsOf(body: unknown): string {
  if (Buffer.isBuffer(body)) return body.toString('utf8', 0, 2_000).trim();
  const { message, cause } = (body ?? {}) as { message?: unknown; cause?: unknown };
  return String(message ?? cause ?? '').slice(0, 2_000);
}
