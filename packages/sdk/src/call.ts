import {
  type JsonRouteName,
  newId,
  type Route,
  type RouteAnswer,
  type RouteCall,
  type RouteOf,
  routes,
} from '@caisson/contract';
import { readAnswer } from './answer.ts';
import type { QueryValue } from './request-url.ts';
import { mayRepeat, withRetries } from './retry.ts';
import { withTimeLimit } from './time-limit.ts';
import type { Transport } from './transport.ts';

/** How a call is made, whatever it calls. */
export interface CallOptions {
  /** Ends the call; it rejects with the signal's reason. What the server has begun goes on. */
  readonly signal?: AbortSignal | undefined;
  /** For routes that take one. Made once for each call when absent, so that the SDK's own repetitions are safe. */
  readonly idempotencyKey?: string | undefined;
}

type Part<K extends string, V> = undefined extends V
  ? { readonly [P in K]?: V }
  : Record<never, never> extends V
    ? { readonly [P in K]?: V }
    : { readonly [P in K]: V };

/** What the route needs: `params` and `body` where it has them, and only then. */
export type CallInput<N extends JsonRouteName> = Part<'params', RouteCall<RouteOf<N>>['params']> &
  Part<'query', RouteCall<RouteOf<N>>['query']> &
  Part<'body', RouteCall<RouteOf<N>>['body']> &
  CallOptions;

export type CallAnswer<N extends JsonRouteName> = RouteAnswer<RouteOf<N>>;

/** Calls that need nothing may be made with nothing. */
export type CallArguments<N extends JsonRouteName> =
  Record<never, never> extends CallInput<N> ? [input?: CallInput<N>] : [input: CallInput<N>];

interface LooseInput extends CallOptions {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, QueryValue>>;
  readonly body?: unknown;
}

/** The server's own default; how long an answer may take counts from there. */
const defaultWaitSeconds = 60;

/** Calls one route of the table by its name, and repeats the call where that is safe. */
export async function callRoute<N extends JsonRouteName>(
  transport: Transport,
  retries: number,
  name: N,
  input: CallInput<N>,
): Promise<CallAnswer<N>> {
  const route: Route = routes[name];
  const { params, query, body, signal, idempotencyKey } = input as LooseInput;
  const key = route.idempotencyKey ? (idempotencyKey ?? newId('request')) : undefined;
  const headers = key === undefined ? {} : { 'idempotency-key': key };
  // A server without a body to read refuses `application/json`; a route that takes one always gets one.
  const content = route.body === undefined ? undefined : (body ?? {});
  const attempt = () =>
    withTimeLimit(limitOf(route, content, query), signal, async (limited) => {
      const response = await transport.send(route, { params, query, body: content, headers, signal: limited });
      try {
        return (await readAnswer(response)) as CallAnswer<N>;
      } catch (error) {
        throw transport.failure(error, limited);
      }
    });
  return withRetries(attempt, { retries: mayRepeat(route) ? retries : 0, signal });
}

/** A command takes as long as it takes, or as long as it was given. */
function limitOf(route: Route, body: unknown, query: unknown): number {
  if (route.accepts !== undefined) return numberIn(body, 'timeoutSeconds') ?? Number.POSITIVE_INFINITY;
  return numberIn(body, 'waitSeconds') ?? numberIn(query, 'waitSeconds') ?? defaultWaitSeconds;
}

function numberIn(part: unknown, name: string): number | undefined {
  if (typeof part !== 'object' || part === null) return undefined;
  const value = (part as Record<string, unknown>)[name];
  return typeof value === 'number' ? value : undefined;
}
