import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CaissonError, type PriceTable, type Profile } from '@caisson/contract';
import type { Capabilities } from '../../packages/server/src/drivers/driver.ts';
import { FakeBackend } from '../../packages/server/src/drivers/fake/fake-backend.ts';
import { FakeDriver } from '../../packages/server/src/drivers/fake/fake-driver.ts';
import type { Clocks } from '../../packages/server/src/leases/wall-clock.ts';
import { ProfileCatalog } from '../../packages/server/src/profiles/catalog.ts';
import { blankProfile, canaryProfile } from '../../packages/server/src/profiles/shipped.ts';
import { BackendHealth } from '../../packages/server/src/routing/backend-health.ts';
import { HostRoom, type RoomSources } from '../../packages/server/src/routing/host-room.ts';
import { overPrices, ratesOf, shippedPrices } from '../../packages/server/src/routing/prices.ts';
import { Router } from '../../packages/server/src/routing/router.ts';
import { Expiry } from '../../packages/server/src/sandbox/expiry.ts';
import { Grace } from '../../packages/server/src/sandbox/healing/grace.ts';
import { Papers } from '../../packages/server/src/sandbox/healing/papers.ts';
import type { Repair } from '../../packages/server/src/sandbox/healing/repair.ts';
import { Idle } from '../../packages/server/src/sandbox/idle.ts';
import { InFlight } from '../../packages/server/src/sandbox/in-flight.ts';
import { Leases } from '../../packages/server/src/sandbox/leases.ts';
import { WarmPools } from '../../packages/server/src/sandbox/pools/warm-pools.ts';
import { Reconciler } from '../../packages/server/src/sandbox/reconciler.ts';
import { Runner } from '../../packages/server/src/sandbox/runner.ts';
import { Sandboxes } from '../../packages/server/src/sandbox/sandboxes.ts';
import { SnapshotKeeper } from '../../packages/server/src/sandbox/travel/snapshot-keeper.ts';
import { Snapshots } from '../../packages/server/src/sandbox/travel/snapshots.ts';
import { Stillness } from '../../packages/server/src/sandbox/travel/stillness.ts';
import type { Deadlines, WorkContext } from '../../packages/server/src/sandbox/work-context.ts';
import type { Limits } from '../../packages/server/src/store/limits.ts';
import { openStore, type Store } from '../../packages/server/src/store/store.ts';
import { Spans } from '../../packages/server/src/telemetry/spans.ts';
import type { Caller } from '../../packages/server/src/tenancy/caller.ts';

export const ada: Caller = { owner: { tenant: 'acme', project: 'web', principal: 'ada' }, scope: 'use', key: null };
export const bob: Caller = { owner: { tenant: 'acme', project: 'web', principal: 'bob' }, scope: 'use', key: null };
export const boss: Caller = {
  owner: { tenant: 'acme', project: 'ops', principal: 'boss' },
  scope: 'manage',
  key: null,
};
export const stranger: Caller = {
  owner: { tenant: 'evil', project: 'web', principal: 'ada' },
  scope: 'admin',
  key: null,
};

export const single: Profile = { name: 'single', version: 1, sourceRequired: false, onePerOwner: true };
export const persistent: Profile = {
  name: 'kept',
  version: 1,
  sourceRequired: false,
  spec: { runtime: { persistence: 'persistent' } },
};

export const short: Profile = {
  name: 'short',
  version: 1,
  sourceRequired: false,
  lease: { maxTtlSeconds: 60, atExpiry: 'stop' },
  priceClass: 'small',
  spec: { runtime: { persistence: 'persistent' } },
};
export const elsewhere: Profile = {
  name: 'elsewhere',
  version: 1,
  sourceRequired: false,
  route: { drivers: ['docker'] },
};

/** The control plane without HTTP, over one database file and one fake backend that outlive it. */
export interface ControlPlane {
  readonly work: WorkContext;
  readonly store: Store;
  /** Its file, for whoever breaks it. */
  readonly database: string;
  readonly driver: FakeDriver;
  /** The same, and those that were asked for besides, each on a backend of its own. */
  readonly drivers: readonly FakeDriver[];
  readonly health: BackendHealth;
  readonly backend: FakeBackend;
  readonly runner: Runner;
  readonly sandboxes: Sandboxes;
  readonly reconciler: Reconciler;
  /** It keeps no time before it is opened; a pass of the reconciler ends what is due. */
  readonly expiry: Expiry;
  readonly leases: Leases;
  readonly idle: Idle;
  /** Nothing happens in them before they are opened. */
  readonly pools: WarmPools;
  /** Passes of the reconciler until nothing is on its way any more. */
  settle(): Promise<Repair[]>;
  /** The same database and backend under a new control plane; the old one is as if it had been killed. */
  restart(profiles?: readonly Profile[]): Promise<ControlPlane>;
  /** The same with a database that knows nothing. */
  loseDatabase(): Promise<ControlPlane>;
  close(): Promise<void>;
}

const fakeSteps = [
  'create.before',
  'create.made',
  'create.after',
  'destroy.before',
  'destroy.after',
  'halt.before',
  'list.before',
  'inspect.before',
] as const;

const quick: Deadlines = {
  prepareMs: 300,
  startupMs: 20_000,
  launchMs: 300,
  endMs: 300,
  inspectMs: 300,
  snapshotMs: 300,
};

/** For tests in which nothing hangs: however busy the machine is, no deadline is met. */
export const patient: Deadlines = {
  prepareMs: 120_000,
  startupMs: 120_000,
  launchMs: 120_000,
  endMs: 120_000,
  inspectMs: 120_000,
  snapshotMs: 120_000,
};

export interface PlaneOptions {
  /** Short ones when absent. */
  readonly deadlines?: Deadlines;
  readonly limits?: Partial<Limits>;
  readonly profiles?: readonly Profile[];
  /** Names of further drivers. */
  readonly others?: readonly string[];
  /** Where those are, when not here. */
  readonly otherHost?: string;
  /** What those can enforce, when not everything. */
  readonly otherNetworks?: Capabilities['networkModes'];
  readonly prices?: PriceTable['entries'];
  readonly room?: Partial<RoomSources>;
  readonly clocks?: Clocks;
  /** Of what nobody owns; without it such things end at once. */
  readonly grace?: () => Grace;
}

export async function controlPlane(options: PlaneOptions = {}): Promise<ControlPlane> {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-plane-'));
  const stores: Store[] = [];
  const backend = new FakeBackend();
  const { others = [] } = options;
  const backends = new Map(others.map((name) => [name, new FakeBackend()]));
  const placeOf = (name: string) =>
    options.otherHost !== undefined && others.includes(name) ? { host: options.otherHost } : {};
  const networks = options.otherNetworks ? { networkModes: options.otherNetworks } : {};
  const backendOf = (name: string) => backends.get(name) ?? backend;

  const database = join(folder, 'caisson.db');
  let installation: string | undefined;

  async function start(own: readonly Profile[] = options.profiles ?? []): Promise<ControlPlane> {
    const store = await openStore({ sqlite: database }, installation);
    installation = store.installation;
    stores.push(store);
    await store.hosts.seen('here', '1');
    const driver = new FakeDriver({ backend });
    const drivers = [
      driver,
      ...others.map((name) => new FakeDriver({ name, backend: backendOf(name), ...placeOf(name), ...networks })),
    ];
    const health = new BackendHealth();
    const prices = overPrices(shippedPrices, { asOf: '2026-11-15', entries: [...(options.prices ?? [])] });
    const work: WorkContext = {
      store,
      deadlines: options.deadlines ?? quick,
      installation: store.installation,
      papers: new Papers({ id: store.installation, secret: Buffer.alloc(32, 7) }),
      health,
      driver: (name) => findDriver(drivers, name),
      rates: (at, { cpuMillis, ...size }) => ratesOf(prices, at, { ...size, cpus: cpuMillis / 1000 }),
      spans: new Spans(),
      stillness: new Stillness(),
      inFlight: new InFlight(),
      profile: ({ profile }) => (profile ? profiles.find(profile.name, profile.version) : undefined),
      subjects: { find: async () => undefined },
    };
    const runner = new Runner(work);
    const limits = { sandboxesPerTenant: null, sandboxesPerHost: null, ...options.limits };
    const profiles = new ProfileCatalog([blankProfile, canaryProfile, single, persistent, short, elsewhere, ...own]);
    const router = new Router({
      backends: drivers.map((one) => ({ driver: one, host: one.host ?? 'here' })),
      health,
      prices,
      room: new HostRoom(async () => undefined, options.room ?? {}),
      here: 'here',
    });
    const pools = new WarmPools({ work, runner, router, profiles, limits, host: 'here' });
    const sandboxes = new Sandboxes({
      work,
      runner,
      router,
      profiles,
      limits,
      pools,
    });
    const snapshots = new Snapshots(work, sandboxes);
    const idle = new Idle(work, runner);
    const { clocks } = options;
    const expiry = new Expiry({ work, runner, profiles, snapshots, idle, ...(clocks ? { clocks } : {}) });
    const leases = new Leases({ store, sandboxes, keeper: expiry.keeper });
    const keeper = new SnapshotKeeper(work, snapshots);
    const grace = options.grace?.() ?? new Grace(0);
    const reconciler = new Reconciler({ work, runner, expiry, keeper, drivers, grace });
    const kill = async () => {
      // A server that was killed does nothing more, neither to the backend nor to the database.
      for (const one of drivers)
        for (const step of fakeSteps) one.faults.plan(step, { kind: 'wedge' }, Number.POSITIVE_INFINITY);
      void pools.stop();
      void expiry.close();
      stores.splice(stores.indexOf(store), 1);
      await store.close();
    };
    return {
      work,
      store,
      database,
      driver,
      drivers,
      health,
      backend,
      runner,
      sandboxes,
      reconciler,
      expiry,
      leases,
      idle,
      pools,
      async settle() {
        const repairs: Repair[] = [];
        do {
          repairs.push(...(await reconciler.pass()));
          await runner.idle();
        } while ((await store.sandboxes.unsettled(1)).length > 0);
        return repairs;
      },
      async restart(changed) {
        await kill();
        return start(changed);
      },
      async loseDatabase() {
        await kill();
        for (const suffix of ['', '-wal', '-shm']) rmSync(`${database}${suffix}`, { force: true });
        return start();
      },
      async close() {
        await pools.stop();
        await expiry.close();
        for (const one of stores) await one.close();
        rmSync(folder, { recursive: true });
      },
    };
  }
  return start();
}

function findDriver(drivers: readonly FakeDriver[], name: string | null): FakeDriver {
  const driver = drivers.find((one) => one.name === name);
  if (!driver) throw new CaissonError('driver_not_found', `there is no driver ${name}`);
  return driver;
}
