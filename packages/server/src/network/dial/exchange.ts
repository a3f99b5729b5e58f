import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { CaissonError, type NetworkRules } from '@caisson/contract';
import { readTarget } from '../rules/host.ts';
import type { Reach } from './reach.ts';

/** A host that neither speaks nor ends for so long is not going to. */
const defaultIdleMs = 60_000;

export interface ExchangeRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface ExchangeAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: AsyncIterable<Uint8Array>;
  close(): void;
}

export interface ExchangeOptions {
  readonly rules: NetworkRules;
  readonly signal: AbortSignal;
  readonly idleMs?: number | undefined;
}

/** One request on a connection of its own. The body comes as it is read, and redirections are the caller's. */
export async function exchange(
  reach: Pick<Reach, 'connect'>,
  wanted: ExchangeRequest,
  { rules, signal, idleMs = defaultIdleMs }: ExchangeOptions,
): Promise<ExchangeAnswer> {
  const { url } = wanted;
  const isTls = url.protocol === 'https:';
  const target = readTarget(url.host, isTls ? 443 : 80);
  if (target === undefined) throw new CaissonError('source_unreachable', `${url.host} is not a host`);
  const socket = await reach.connect(rules, target, isTls, signal);
  let isIdle = false;
  socket.setTimeout(idleMs, () => {
    isIdle = true;
    socket.destroy();
  });
  const translated = (error: unknown): unknown => {
    if (signal.aborted) return signal.reason;
    const why = isIdle ? `said nothing for ${idleMs / 1000} s` : `cut the connection: ${(error as Error).message}`;
    return new CaissonError('source_unreachable', `${url.host} ${why}`, { cause: error });
  };
  try {
    const answer = await send(socket, wanted, signal);
    const { statusCode: status = 0, headers } = answer;
    return { status, headers, body: read(answer, translated), close: () => socket.destroy() };
  } catch (error) {
    socket.destroy();
    throw translated(error);
  }
}

function send(
  socket: Socket,
  { method, url, headers, body }: ExchangeRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const req = request({
      ...{ method, path: `${url.pathname}${url.search}`, signal },
      headers: { host: url.host, 'user-agent': 'git/2 (caisson)', ...headers },
      // With an agent named, even none, Node would dial by itself.
      createConnection: () => socket,
    });
    // It stays: what fails while the answer is read is told by the answer.
    req.on('error', reject);
    req.on('response', resolve);
    req.end(body);
  });
}

async function* read(answer: IncomingMessage, translated: (error: unknown) => unknown): AsyncGenerator<Uint8Array> {
  try {
    yield* answer as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw translated(error);
  }
}
