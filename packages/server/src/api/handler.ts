import type { IncomingHttpHeaders } from 'node:http';
import type { Doctor, RouteName, RouteOf, RouteRequest, WebSocketRouteName } from '@caisson/contract';
import type { WebSocket } from 'ws';
import type { Builds } from '../builds/builds.ts';
import type { EventFeed } from '../events/feed.ts';
import type { Secrets } from '../network/secrets/secrets.ts';
import type { SharedPorts } from '../preview/shared-ports.ts';
import type { ProfileCatalog } from '../profiles/catalog.ts';
import type { Attachments } from '../sandbox/attachments.ts';
import type { Guests } from '../sandbox/guests.ts';
import type { HostReports } from '../sandbox/host-reports.ts';
import type { ImageCatalog } from '../sandbox/images/image-catalog.ts';
import type { Networks } from '../sandbox/networks.ts';
import type { Plans } from '../sandbox/plans.ts';
import type { WarmPools } from '../sandbox/pools/warm-pools.ts';
import type { Sandboxes } from '../sandbox/sandboxes.ts';
import type { Stale } from '../sandbox/stale.ts';
import type { Tools } from '../sandbox/tools/tools.ts';
import type { Branches } from '../sandbox/travel/branches.ts';
import type { Snapshots } from '../sandbox/travel/snapshots.ts';
import type { SandboxesInUse } from '../sandbox/usage.ts';
import type { Archives } from '../snapshot-content/archives.ts';
import type { Diffs } from '../snapshot-content/diffs.ts';
import type { IdempotentRequest } from '../store/idempotency.ts';
import type { Store } from '../store/store.ts';
import type { HealthWatch } from '../telemetry/health.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Spans } from '../telemetry/spans.ts';
import type { Caller } from '../tenancy/caller.ts';
import type { Keys } from '../tenancy/keys.ts';
import type { AttachedSocket } from './attached-socket.ts';
import type { ByteSink } from './byte-sink.ts';

/** What the handlers call. They parse, call and render; nothing is decided here. */
export interface ApiContext {
  readonly store: Store;
  readonly sandboxes: Sandboxes;
  readonly guests: Guests;
  readonly snapshots: Snapshots;
  readonly branches: Branches;
  readonly diffs: Diffs;
  readonly archives: Archives;
  readonly attachments: Attachments;
  readonly tools: Tools;
  readonly networks: Networks;
  readonly feed: EventFeed;
  readonly keys: Keys;
  readonly ports: SharedPorts;
  readonly plans: Plans;
  readonly builds: Builds;
  readonly images: ImageCatalog;
  readonly pools: WarmPools;
  readonly hosts: HostReports;
  readonly stale: Stale;
  readonly secrets: Secrets;
  readonly profiles: ProfileCatalog;
  readonly metrics: Metrics;
  readonly spans: Spans;
  readonly health: HealthWatch;
  readonly usage: SandboxesInUse;
  readonly version: string;
  doctor(): Promise<Doctor['checks']>;
  /** Why the server is not ready, or nothing. */
  notReady(): string[];
}

export interface Call<N extends RouteName> extends RouteRequest<RouteOf<N>> {
  readonly caller: Caller;
  readonly idempotency?: IdempotentRequest | undefined;
  readonly headers: IncomingHttpHeaders;
  /** Ends with the server. What waits for something inside a sandbox listens to it. */
  readonly shutdown: AbortSignal;
  /** Does this when the client leaves before it has its answer, or the server shuts down. */
  readonly onLeft: (leave: () => void) => void;
  /** Does this when the answer is over, however it ends: after a stream or a WebSocket when that has closed. */
  readonly onEnd: (end: () => void) => void;
}

/** Bytes as they come. What is thrown before the answer is a problem; after its head only the connection can tell. */
export interface ByteAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** It may stay open for long: it takes a place, and ends with the key of the caller. */
  readonly isLive?: boolean;
  send(sink: ByteSink): Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  /** False when the request is still being worked on; only a final answer is kept for a repetition of it. */
  readonly final?: boolean;
}

export type Handler<N extends RouteName> = (context: ApiContext, call: Call<N>) => Promise<Answer | ByteAnswer>;
export type Handlers<N extends RouteName = RouteName> = { readonly [K in N]: Handler<K> };

/** What is done with a socket once there is one: frames of a kind each, or bytes as they are, until one of these ends. */
export type SocketUse =
  | { readonly kind: 'frames'; take(socket: AttachedSocket): Promise<void> }
  | { readonly kind: 'bytes'; take(socket: WebSocket, until: readonly AbortSignal[]): void };

/** Does everything that can be refused, and answers what to do with the socket. */
export type SocketHandler<N extends WebSocketRouteName> = (
  context: ApiContext,
  call: Omit<Call<N>, 'onLeft'>,
) => Promise<SocketUse>;
export type SocketHandlers = { readonly [K in WebSocketRouteName]: SocketHandler<K> };
