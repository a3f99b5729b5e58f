import { type IncomingMessage, request } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import type { Fetch, FetchAnswer } from '@caisson/sdk';

/**
 * `fetch` over a unix socket, as far as the SDK uses it: a method, plain headers, a body, an abort, and an answer
 * whose body streams. Node's own `fetch` cannot be told of a socket without another dependency, and to load it takes
 * longer than most commands do: nothing here touches `Response` or `Headers`, which would.
 */
export function unixFetch(socketPath: string): Fetch {
  return (url, init) =>
    new Promise<FetchAnswer>((resolve, reject) => {
      const { pathname, search, host } = new URL(url);
      const signal = init.signal ?? undefined;
      if (signal?.aborted) return reject(signal.reason);
      const headers: Record<string, string> = { ...(init.headers as Record<string, string> | undefined), host };
      const body = bodyOfRequest(init.body);
      if (body instanceof Uint8Array) headers['content-length'] = String(body.byteLength);
      const outgoing = request({
        socketPath,
        path: `${pathname}${search}`,
        method: init.method ?? 'GET',
        headers,
        // A command makes a few requests and ends; a connection that is kept would keep the command.
        agent: false,
        ...(signal === undefined ? {} : { signal }),
      });
      outgoing.once('response', (incoming) => resolve(responseOf(incoming)));
      outgoing.on('error', (error) => reject(signal?.aborted ? signal.reason : error));
      if (body instanceof Readable) pipeline(body, outgoing, (error) => error && outgoing.destroy(error));
      else outgoing.end(body);
    });
}

/** What the SDK sends: text, bytes, or a stream of any length. */
function bodyOfRequest(body: unknown): Uint8Array | Readable | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string') return Buffer.from(body);
  if (body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  return Readable.fromWeb((body instanceof Blob ? body.stream() : body) as NodeReadableStream);
}

function responseOf(incoming: IncomingMessage): FetchAnswer {
  const status = incoming.statusCode ?? 500;
  const hasBody = status !== 204 && status !== 205 && status !== 304;
  if (!hasBody) incoming.resume();
  const body = hasBody ? bodyOf(incoming) : null;
  const text = async () => (await bytesOf(body)).toString();
  return {
    ok: status >= 200 && status < 300,
    status,
    body,
    headers: { get: (name) => fieldOf(incoming, name) },
    arrayBuffer: async () => new Uint8Array(await bytesOf(body)).buffer,
    text,
    json: async () => JSON.parse(await text()),
  };
}

function fieldOf({ headers }: IncomingMessage, name: string): string | null {
  const value = headers[name.toLowerCase()];
  return typeof value === 'string' ? value : null;
}

async function bytesOf(body: ReadableStream<Uint8Array> | null): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body ?? []) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** The reader sets the pace: what it has not taken stays in the socket. */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  let over = false;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      incoming.on('data', (chunk: Buffer) => {
        if (over) return;
        controller.enqueue(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength));
        if ((controller.desiredSize ?? 0) <= 0) incoming.pause();
      });
      const fail = (error: Error) => {
        if (over) return;
        over = true;
        controller.error(error);
      };
      incoming.once('end', () => {
        if (over) return;
        over = true;
        controller.close();
      });
      incoming.on('error', fail);
      incoming.once('close', () => fail(new Error('the server closed the connection before the end of its answer')));
      incoming.pause();
    },
    pull() {
      incoming.resume();
    },
    cancel() {
      // Its end may be on the way already, and must find nobody.
      over = true;
      incoming.destroy();
    },
  });
}
