import { setMaxListeners } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { CaissonError, type CaissonEvent } from '@caisson/contract';
import type { FastifyInstance } from 'fastify';
import type { ApiContext } from './api/handler.ts';
import { createHttp } from './api/http.ts';
import type { HttpOptions } from './api/http-options.ts';
import { isLoopback, type Listener, parseListen } from './api/listener.ts';
import { type ControlPlane, type ControlPlaneOptions, openControlPlane } from './control-plane.ts';
import { DataFolder } from './data-folder.ts';
import { EventFeed } from './events/feed.ts';
import { listenPreviews } from './listen-previews.ts';
import { openPreviews, type Previews } from './preview/previews.ts';
import type { Repair } from './sandbox/healing/repair.ts';
import { Heartbeat } from './sandbox/heartbeat.ts';

import { createLogger, type Logger } from './telemetry/log.ts';
import { openHealth } from './telemetry-parts.ts';
import type { Keys } from './tenancy/keys.ts';

export interface ServerOptions extends ControlPlaneOptions {
  readonly dataFolder: string;
  /** Addresses as `host:port` beside the unix socket in the data folder. */
  readonly listen: readonly string[];
  readonly allowHosts: readonly string[];
  /** Names under which previews are reached, and addresses for previews alone. */
  readonly previewDomains?: readonly string[] | undefined;
  readonly previewListen?: readonly string[] | undefined;
  /** Addresses of proxies in front of them whose word about their clients counts. */
  readonly previewProxies?: readonly string[] | undefined;
  readonly destroyOnExit: boolean;
  readonly logLevel: string;
  /** The descriptor that the log goes to; standard error when absent. */
  readonly logFd?: number | undefined;
  /** How long a shutdown waits for what runs. */
  readonly shutdownSeconds?: number | undefined;
  readonly reconcileSeconds?: number | undefined;
  readonly requestTimeoutMs?: number | undefined;
}

export interface RunningServer {
  readonly addresses: readonly string[];
  /** Those for previews alone. */
  readonly previewAddresses: readonly string[];
  /** Resolves when everything that an earlier server left unfinished has been taken up once. */
  readonly ready: Promise<void>;
  /** Everything behind it, for a program that runs a server within itself. */
  readonly plane: ControlPlane;
  close(): Promise<void>;
}

/** The only wiring, with `control-plane.ts`: every part is made here and given what it needs. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const log = createLogger(options.logLevel, options.logFd);
  // Whatever the server writes, its socket included, is its user's alone from the first moment.
  process.umask(0o077);
  const folder = DataFolder.open(options.dataFolder);
  const undo: (() => Promise<void> | void)[] = [() => folder.close()];
  try {
    const onSuperseded = options.onSuperseded ?? (() => process.kill(process.pid, 'SIGTERM'));
    const plane = await openControlPlane(folder, { ...options, log, onSuperseded });
    undo.push(() => plane.close());
    plane.store.onEvent((event) => log.info(eventLine(event), event.type));
    const everyMs = (options.reconcileSeconds ?? 5) * 1000;
    const heartbeat = new Heartbeat(plane.reconciler, log, (repair) => repaired(plane, repair), everyMs);
    const health = openHealth(plane, heartbeat, folder.path);
    undo.push(() => health.close());
    const shutdown = new AbortController();
    // Every open stream listens to it.
    setMaxListeners(0, shutdown.signal);
    const apps: FastifyInstance[] = [];
    const parts = { ...plane, log, shutdown: shutdown.signal, secretFile: folder.file('preview.key') };
    const previews = openPreviews(parts, { domains: options.previewDomains, proxies: options.previewProxies });
    const previewsAlone = await listenPreviews(previews, options.previewListen ?? []);
    const closeApps = async () => {
      shutdown.abort();
      await Promise.all([previewsAlone.close(), ...apps.map(closeApp)]);
    };
    undo.push(closeApps);
    const context: ApiContext = {
      ...plane,
      ports: previews.ports,
      feed: new EventFeed(plane.store),
      version: options.version,
      health,
      notReady: () => heartbeat.notReady(),
    };
    const common = { log, shutdown: shutdown.signal };
    const addresses = await listenAll(context, options, folder, apps, common, previews);
    const previewAddresses = previewsAlone.addresses;
    const { pid } = process;
    folder.announce({
      pid,
      version: options.version,
      socket: folder.socket,
      addresses,
      startedAt: new Date().toISOString(),
    });
    undo.push(() => plane.pools.stop());
    await plane.pools.open();
    await plane.expiry.open();
    await plane.sinks.open();
    const ready = heartbeat.start();
    // By then every guest that an earlier server left is linked.
    void ready.then(() => adoptLate(plane)).catch(() => {});
    const { store, builds, audit } = plane;
    const prune = () =>
      Promise.all([
        store.idempotency.prune(),
        store.toolCalls.prune(),
        builds.prune(),
        audit.keepDays(options.auditDays),
      ]).catch(() => {});
    const pruning = setInterval(prune, pruneEveryMs).unref();
    undo.push(() => clearInterval(pruning));
    log.info({ addresses, previewAddresses, data: folder.path, engine: plane.store.engine }, 'listening');

    const close = () => {
      clearInterval(pruning);
      health.close();
      return shutDown(plane, heartbeat, apps, closeApps, folder, options, log);
    };
    let closing: Promise<void> | undefined;
    return {
      addresses,
      previewAddresses,
      ready,
      plane,
      close: () => {
        closing ??= close();
        return closing;
      },
    };
  } catch (error) {
    for (const step of undo.reverse()) await step();
    throw error;
  }
}

/**
 * Stops taking requests, then waits for what runs, and for everything together no longer than it may take. Whatever is
 * not done by then is left as the record says, for the next server.
 */
async function shutDown(
  plane: ControlPlane,
  heartbeat: Heartbeat,
  apps: readonly FastifyInstance[],
  closeApps: () => Promise<void>,
  folder: DataFolder,
  options: ServerOptions,
  log: Logger,
): Promise<void> {
  log.info('shutting down');
  const reason = new CaissonError('shutting_down');
  const grace = setTimeout(
    () => {
      plane.runner.stop(reason);
      plane.snapshots.stop(reason);
      for (const app of apps) app.server.closeAllConnections();
    },
    (options.shutdownSeconds ?? 10) * 1000,
  );
  try {
    plane.reconciler.stop(reason);
    await Promise.all([plane.pools.stop(), plane.expiry.close(), heartbeat.stop(), closeApps()]);
    if (options.destroyOnExit) await plane.sandboxes.endAll('its server ended');
    await plane.runner.idle();
    await plane.snapshots.idle();
  } catch (error) {
    log.error({ err: error }, 'the shutdown was not clean');
  } finally {
    clearTimeout(grace);
    await plane.close();
    folder.close();
  }
}

/** Only a sandbox whose rules were changed can have been switched on after it was made. */
async function adoptLate({ store, egress }: ControlPlane): Promise<void> {
  await egress.gates.adopted(await store.sandboxRules.changed());
}

/** Not every repair has a sandbox whose events could tell of it. */
function repaired({ audit }: ControlPlane, { sandbox: subject, found: detail, did }: Repair): void {
  audit.server({ action: `reconcile.${did}`, subject, detail });
}

/** Idempotency keys and calls of tools are kept for a day; an hour more does no harm. */
const pruneEveryMs = 3_600_000;

/** How often a server that closes looks for connections whose last request is over. */
const idleLookMs = 50;

/** Node closes the connections that are idle at that moment, and then waits for its clients to close the others. */
async function closeApp(app: FastifyInstance): Promise<void> {
  const look = setInterval(() => app.server.closeIdleConnections(), idleLookMs);
  try {
    await app.close();
  } finally {
    clearInterval(look);
  }
}

async function listenAll(
  context: ApiContext,
  options: ServerOptions,
  folder: DataFolder,
  apps: FastifyInstance[],
  common: Pick<HttpOptions, 'log' | 'shutdown'>,
  previews: Previews,
): Promise<string[]> {
  const listeners: Listener[] = [{ kind: 'unix', path: folder.socket }, ...options.listen.map(parseListen)];
  await refuseOpenListeners(listeners, context.keys);
  const allowHosts = options.allowHosts.map((name) => name.toLowerCase());
  const addresses: string[] = [];
  for (const listener of listeners) {
    const { requestTimeoutMs } = options;
    const door = listener.kind === 'tcp' ? previews.door : undefined;
    const app = createHttp(context, { ...common, listener, allowHosts, requestTimeoutMs, previews: door });
    apps.push(app);
    addresses.push(await listen(app, listener));
    if (listener.kind === 'tcp') previews.urls.listensAt(listener.host, (app.server.address() as AddressInfo).port);
  }
  return addresses;
}

/** What of an event is worth a line: where from and why. The rest is in the log of events. */
function eventLine({ subject, sequence, data }: CaissonEvent): Record<string, unknown> {
  const { from, cause, reason } = data;
  return { sandbox: subject, sequence, from, cause, reason };
}

/** Without a key everybody who reaches an address is the local user; so only loopback may be reached without one. */
async function refuseOpenListeners(listeners: readonly Listener[], keys: Keys): Promise<void> {
  const open = listeners.find((listener) => listener.kind === 'tcp' && !isLoopback(listener.host));
  if (open?.kind === 'tcp' && !(await keys.configured())) {
    throw new CaissonError(
      'listen_needs_key',
      `${open.host}:${open.port} can be reached from outside, and there is no API key yet`,
    );
  }
}

async function listen(app: FastifyInstance, listener: Listener): Promise<string> {
  try {
    if (listener.kind === 'unix') {
      // The folder is ours and locked: whatever is there is left from a server that was killed.
      if (existsSync(listener.path)) rmSync(listener.path);
      await app.listen({ path: listener.path });
      return `unix:${listener.path}`;
    }
    await app.listen({ host: listener.host, port: listener.port });
    const { port } = app.server.address() as AddressInfo;
    return `http://${listener.host.includes(':') ? `[${listener.host}]` : listener.host}:${port}`;
  } catch (error) {
    const where = listener.kind === 'unix' ? listener.path : `${listener.host}:${listener.port}`;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') throw new CaissonError('address_in_use', `${where} is in use`, { cause: error });
    throw new CaissonError('address_unavailable', `cannot listen on ${where}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
