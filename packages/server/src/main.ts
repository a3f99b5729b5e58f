import { chmodSync, existsSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { CaissonError } from '@caisson/contract';
import type { FastifyInstance } from 'fastify';
import type { ApiContext } from './api/handler.ts';
import { createHttp } from './api/http.ts';
import { isLoopback, type Listener, parseListen } from './api/listener.ts';
import { DataFolder } from './data-folder.ts';
import type { Driver } from './drivers/driver.ts';
import { FakeBackend } from './drivers/fake/fake-backend.ts';
import { FakeDriver } from './drivers/fake/fake-driver.ts';
import { EventFeed } from './events/feed.ts';
import { loadProfiles } from './profiles/catalog.ts';
import { doctor } from './sandbox/doctor.ts';
import { Heartbeat } from './sandbox/heartbeat.ts';
import { Reconciler } from './sandbox/reconciler.ts';
import { Runner } from './sandbox/runner.ts';
import { Sandboxes } from './sandbox/sandboxes.ts';
import { type Deadlines, defaultDeadlines, type WorkContext } from './sandbox/work.ts';
import type { Limits } from './store/limits.ts';
import { openStore } from './store/store.ts';
import { createLogger } from './telemetry/log.ts';
import { Metrics } from './telemetry/metrics.ts';
import { Keys } from './tenancy/keys.ts';

export interface ServerOptions {
  readonly dataFolder: string;
  /** Addresses as `host:port` beside the unix socket in the data folder. */
  readonly listen: readonly string[];
  readonly databaseUrl?: string | undefined;
  readonly allowHosts: readonly string[];
  readonly destroyOnExit: boolean;
  readonly logLevel: string;
  readonly version: string;
  /** How long a shutdown waits for what runs. */
  readonly shutdownSeconds?: number | undefined;
  readonly limits?: Partial<Limits> | undefined;
  readonly deadlines?: Partial<Deadlines> | undefined;
  readonly reconcileSeconds?: number | undefined;
  readonly requestTimeoutMs?: number | undefined;
}

export interface RunningServer {
  readonly addresses: readonly string[];
  /** Resolves when everything that an earlier server left unfinished has been taken up once. */
  readonly ready: Promise<void>;
  close(): Promise<void>;
}

/** The only wiring: every part is made here and given what it needs. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const log = createLogger(options.logLevel);
  const folder = DataFolder.open(options.dataFolder);
  const undo: (() => Promise<void> | void)[] = [() => folder.close()];
  try {
    const location = options.databaseUrl ? { postgres: options.databaseUrl } : { sqlite: folder.file('caisson.db') };
    const store = await openStore(location);
    undo.push(() => store.close());
    const host = hostname();
    await store.hosts.seen(host, options.version);
    await store.idempotency.prune();

    const drivers: Driver[] = [new FakeDriver({ backend: new FakeBackend(folder.file('fake')) })];
    const profiles = loadProfiles(folder.file('profiles'));
    const deadlines = { ...defaultDeadlines, ...options.deadlines };
    const limits = { sandboxesPerTenant: null, sandboxesPerHost: null, ...options.limits };
    const work: WorkContext = {
      store,
      deadlines,
      installation: store.installation,
      driver: (name) => findDriver(drivers, name),
    };
    const runner = new Runner(work);
    const sandboxes = new Sandboxes({ store, runner, drivers, profiles, limits, deadlines, host });
    const reconciler = new Reconciler(work, runner, sandboxes, drivers);
    const keys = new Keys(store);
    const metrics = new Metrics({
      sandboxesByState: () => store.sandboxes.countByState(),
      jobsByState: () => store.jobs.countByState(),
      operations: () => runner.count,
    });
    store.onEvent(({ type, subject, sequence, data }) => log.info({ sandbox: subject, sequence, ...pick(data) }, type));
    const heartbeat = new Heartbeat(
      reconciler,
      log,
      (repair) => metrics.repair(repair.did),
      (options.reconcileSeconds ?? 5) * 1000,
    );
    const context: ApiContext = {
      store,
      sandboxes,
      feed: new EventFeed(store),
      keys,
      profiles,
      metrics,
      version: options.version,
      doctor: () => doctor(store, drivers, folder.path),
      notReady: () => heartbeat.notReady(),
    };

    const listeners: Listener[] = [{ kind: 'unix', path: folder.socket }, ...options.listen.map(parseListen)];
    await refuseOpenListeners(listeners, keys);
    const shutdown = new AbortController();
    const apps: FastifyInstance[] = [];
    undo.push(async () => {
      shutdown.abort();
      await Promise.all(apps.map((app) => app.close()));
    });
    const addresses: string[] = [];
    for (const listener of listeners) {
      const app = createHttp(context, {
        listener,
        allowHosts: options.allowHosts.map((name) => name.toLowerCase()),
        log,
        shutdown: shutdown.signal,
        requestTimeoutMs: options.requestTimeoutMs,
      });
      apps.push(app);
      addresses.push(await listen(app, listener));
    }
    folder.announce({
      pid: process.pid,
      version: options.version,
      socket: folder.socket,
      addresses,
      startedAt: new Date().toISOString(),
    });
    const ready = heartbeat.start();
    log.info({ addresses, data: folder.path, engine: store.engine }, 'listening');

    let closing: Promise<void> | undefined;
    const close = async () => {
      log.info('shutting down');
      await heartbeat.stop();
      if (options.destroyOnExit) await sandboxes.endAll('its server ended');
      const grace = setTimeout(
        () => runner.stop(new CaissonError('shutting_down')),
        (options.shutdownSeconds ?? 10) * 1000,
      );
      shutdown.abort();
      await Promise.all(apps.map((app) => app.close()));
      await runner.idle();
      clearTimeout(grace);
      await store.close();
      folder.close();
    };
    return {
      addresses,
      ready,
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

/** What of an event is worth a line: where from and why. The rest is in the log of events. */
function pick({ from, cause, reason }: Record<string, unknown>): Record<string, unknown> {
  return { from, cause, reason };
}

function findDriver(drivers: readonly Driver[], name: string | null): Driver {
  const driver = drivers.find((candidate) => candidate.name === name);
  if (!driver) throw new CaissonError('driver_not_found', `the driver ${name} is not installed here`);
  return driver;
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
      chmodSync(listener.path, 0o600);
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
