import type { z } from 'zod';

/**
 * The HTTP API as data. The server registers these routes, the SDK calls them, OpenAPI and the tests over every route
 * are made from them; a route that is not here does not exist.
 *
 * Laws
 * - `scope` is what a key must have. `null` is for the few routes that tell nothing about anybody.
 * - `owned` routes name one thing by id: the server answers another tenant's id like an unknown one.
 * - `idempotencyKey` routes take the header `Idempotency-Key`; with it the very same request may be repeated safely.
 * - `responses` lists every status of success. Failures are problems (see errors/problem.ts) on every route.
 */
export const scopes = ['read', 'use', 'manage', 'admin'] as const;
export type Scope = (typeof scopes)[number];

/** Each scope includes the ones before it. */
export function includesScope(held: Scope, wanted: Scope): boolean {
  return scopes.indexOf(held) >= scopes.indexOf(wanted);
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly summary: string;
  readonly tag: string;
  readonly scope: Scope | null;
  readonly owned?: 'sandbox' | 'key' | 'job' | 'attempt';
  readonly idempotencyKey?: true;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  readonly responses: Readonly<Record<number, z.ZodType>>;
  /** The answer is a stream of these as server-sent events when the client accepts `text/event-stream`. */
  readonly stream?: z.ZodType;
}

export function route<const R extends Route>(definition: R): R {
  return definition;
}

type Parsed<S, Empty> = S extends z.ZodType ? z.output<S> : Empty;
type Given<S, Empty> = S extends z.ZodType ? z.input<S> : Empty;
type NoFields = Record<never, never>;

/** What a handler of the route gets. */
export interface RouteRequest<R extends Route> {
  readonly params: Parsed<R['params'], NoFields>;
  readonly query: Parsed<R['query'], NoFields>;
  readonly body: Parsed<R['body'], undefined>;
}

/** What a caller of the route gives. */
export interface RouteCall<R extends Route> {
  readonly params: Given<R['params'], NoFields>;
  readonly query: Given<R['query'], NoFields>;
  readonly body: Given<R['body'], undefined>;
}

export type RouteAnswer<R extends Route> = z.output<R['responses'][keyof R['responses']]>;
