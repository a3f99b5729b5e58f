import type { RouteName, RouteOf, RouteRequest } from '@caisson/contract';
import type { EventFeed } from '../events/feed.ts';
import type { ProfileCatalog } from '../profiles/catalog.ts';
import type { Guests } from '../sandbox/guests.ts';
import type { Sandboxes } from '../sandbox/sandboxes.ts';
import type { IdempotentRequest } from '../store/idempotency.ts';
import type { Store } from '../store/store.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Caller } from '../tenancy/caller.ts';
import type { Keys } from '../tenancy/keys.ts';

/** What the handlers call. They parse, call and render; nothing is decided here. */
export interface ApiContext {
  readonly store: Store;
  readonly sandboxes: Sandboxes;
  readonly guests: Guests;
  readonly feed: EventFeed;
  readonly keys: Keys;
  readonly profiles: ProfileCatalog;
  readonly metrics: Metrics;
  readonly version: string;
  doctor(): Promise<{ name: string; ok: boolean; detail: string; fix: string | null }[]>;
  /** Why the server is not ready, or nothing. */
  notReady(): string[];
}

export interface Call<N extends RouteName> extends RouteRequest<RouteOf<N>> {
  readonly caller: Caller;
  readonly idempotency?: IdempotentRequest | undefined;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  /** False when the request is still being worked on; only a final answer is kept for a repetition of it. */
  readonly final?: boolean;
}

export type Handler<N extends RouteName> = (context: ApiContext, call: Call<N>) => Promise<Answer>;
export type Handlers<N extends RouteName = RouteName> = { readonly [K in N]: Handler<K> };
