import { z } from 'zod';

/**
 * The HTTP API as data. The server registers these routes, the SDK calls them, OpenAPI and the tests over every route
 * are made from them; a route that is not here does not exist.
 *
 * Laws
 * - `scope` is what a key must have. `null` is for the few routes that tell nothing about anybody.
 * - `owned` routes name one thing by id: the server answers another tenant's id like an unknown one.
 * - `idempotencyKey` routes take the header `Idempotency-Key`; with it the very same request may be repeated safely.
 * - Routes of the scope `read` change nothing, whatever their method.
 * - `responses` lists every status of success. Failures are problems (see errors/problem.ts) on every route.
 * - Bodies and answers are JSON unless the route says otherwise: `upload` and `download` are bytes of any length, sent
 *   and taken as they come; `webSocket` turns the connection into a WebSocket after the same checks as everywhere.
 */
export const scopes = ['read', 'use', 'manage', 'admin'] as const;
export type Scope = (typeof scopes)[number];

/** Each scope includes the ones before it. */
export function includesScope(held: Scope, wanted: Scope): boolean {
  return scopes.indexOf(held) >= scopes.indexOf(wanted);
}

/** What bytes may be, and how HTTP names it. */
export const byteForms = {
  bytes: 'application/octet-stream',
  tar: 'application/x-tar',
  output: 'application/vnd.caisson.output',
  events: 'text/event-stream',
} as const;

export type ByteForm = keyof typeof byteForms;

/** What a WebSocket client offers as its protocol, and the prefix of the one that carries the key of a browser. */
export const webSocketProtocol = 'caisson';
export const webSocketKeyPrefix = 'caisson-key.';

/** The answer of a route whose answer is not JSON. */
export const byteAnswer = z.unknown();

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly summary: string;
  readonly tag: string;
  readonly scope: Scope | null;
  readonly owned?: 'sandbox' | 'key' | 'job' | 'attempt' | 'snapshot' | 'build';
  readonly idempotencyKey?: true;
  /** Asking again does nothing twice: what it names or says is the same each time. */
  readonly repeatable?: true;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  readonly responses: Readonly<Record<number, z.ZodType>>;
  /** The answer is a stream of these as server-sent events when the client accepts `text/event-stream`. */
  readonly stream?: z.ZodType;
  /** The body is a stream of bytes. */
  readonly upload?: 'bytes' | 'tar';
  /** The answer of success is a stream of bytes. */
  readonly download?: ByteForm;
  /** The answer is a stream of bytes when the client accepts this form; otherwise it is JSON. */
  readonly accepts?: 'output' | 'events';
  readonly webSocket?: true;
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
  readonly body: R extends { readonly upload: string } ? AsyncIterable<Uint8Array> : Parsed<R['body'], undefined>;
}

/** What a caller of the route gives. */
export interface RouteCall<R extends Route> {
  readonly params: Given<R['params'], NoFields>;
  readonly query: Given<R['query'], NoFields>;
  readonly body: Given<R['body'], undefined>;
}

export type RouteAnswer<R extends Route> = z.output<R['responses'][keyof R['responses']]>;

/** Whether the whole of the route is JSON. */
export type IsJson<R extends Route> = R extends
  | { readonly upload: string }
  | { readonly download: string }
  | { readonly webSocket: true }
  ? false
  : true;
