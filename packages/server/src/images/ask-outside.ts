import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type Agent, request } from 'node:https';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | undefined;
  /** As `fetch` has it. */
  readonly redirect?: 'follow' | 'manual';
  readonly signal: AbortSignal;
}

const maxRedirects = 5;

/**
 * Asks a server outside. `agent` is for TLS, and says whom to trust: `fetch` alone trusts what the process began with, and
 * cannot be told of one authority more.
 */
export async function askOutside(start: URL, asked: Asked, agent: Agent | undefined): Promise<Response> {
  const { redirect = 'follow', ...rest } = asked;
  if (agent === undefined) return fetch(start, { ...rest, redirect } as RequestInit);
  let url = start;
  for (let hop = 0; hop <= maxRedirects; hop++) {
    const once = { ...rest, redirect: 'manual' } as RequestInit;
    const response = url.protocol === 'https:' ? await overTls(url, asked, agent) : await fetch(url, once);
    const location = response.headers.get('location');
    if (redirect === 'manual' || location === null || response.status < 300 || response.status >= 400) return response;
    await response.body?.cancel();
    url = new URL(location, url);
  }
  throw new Error(`${start.host} redirects more than ${maxRedirects} times`);
}

async function overTls(url: URL, { method = 'GET', headers = {}, body, signal }: Asked, agent: Agent) {
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = request(url, { method, headers, agent, signal });
    outgoing.on('error', reject);
    outgoing.on('response', resolve);
    outgoing.end(body);
  });
  return responseOf(incoming.statusCode ?? 500, incoming.headers, method === 'HEAD' ? null : bodyOf(incoming));
}

/** What ends before its time fails the reader. */
function bodyOf(incoming: IncomingMessage): ReadableStream {
  return Readable.toWeb(incoming) as ReadableStream;
}

export function responseOf(
  status: number,
  headers: IncomingHttpHeaders,
  body: ReadableStream | Uint8Array | null,
): Response {
  const pairs = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value] as [string, string]],
  );
  // Only these can be told at all; anything else is a server that does not speak HTTP.
  const told = status >= 200 && status <= 599 ? status : 502;
  const hasBody = ![204, 205, 304].includes(told);
  return new Response(hasBody ? (body as ConstructorParameters<typeof Response>[0]) : null, {
    status: told,
    headers: pairs,
  });
}
