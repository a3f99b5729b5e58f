import { CaissonError, type Route, type RouteName, routes } from '@caisson/contract';
import { readAnswer } from './answer.ts';
import type { CallOptions } from './call.ts';
import type { QueryValue } from './request-url.ts';
import { mayRepeat, withRetries } from './retry.ts';
import type { Bytes, FetchAnswer, Message, Transport } from './transport.ts';

export interface RawCall extends Pick<CallOptions, 'signal'> {
  readonly params: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, QueryValue>>;
  readonly body?: unknown;
  readonly bytes?: Bytes | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Calls a route whose body or answer is bytes. A refusal is thrown; an answer is given with its body to read. */
export async function openRoute(
  transport: Transport,
  retries: number,
  name: RouteName,
  call: RawCall,
): Promise<FetchAnswer> {
  const route: Route = routes[name];
  const message: Message = call;
  const attempt = async () => {
    const response = await transport.send(route, message);
    if (!response.ok && response.status !== 304) await readAnswer(response);
    return response;
  };
  return withRetries(attempt, { retries: mayRepeat(route) ? retries : 0, signal: call.signal });
}

/** The pieces of a body. Leaving the loop lets go of the connection. */
export async function* piecesOf(response: FetchAnswer, idleMs?: number): AsyncGenerator<Uint8Array> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await (idleMs === undefined ? reader.read() : withIdleLimit(reader.read(), idleMs));
      if (done) return;
      yield value;
    }
  } finally {
    // The other end may be gone already; letting go of it cannot fail in a way that matters.
    reader.cancel().catch(() => {});
  }
}

export async function withIdleLimit<T>(read: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silent = new Promise<never>((_, reject) => {
    const error = new CaissonError('server_unreachable', `the stream has been silent for ${ms / 1000} s`);
    timer = setTimeout(() => reject(error), ms);
  });
  return Promise.race([read, silent]).finally(() => clearTimeout(timer));
}
