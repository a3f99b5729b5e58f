import { hostname } from 'node:os';
import { CaissonError, type Doctor, type Id } from '@caisson/contract';
import { Audit } from './audit/audit.ts';
import { Spool } from './audit/spool.ts';
import { defaultDrivers, guestProgram, openBackends } from './backends.ts';
import { Builds } from './builds/builds.ts';
import { Credits } from './credits/credits.ts';
import { Settlement } from './credits/settlement.ts';
import { UsageHook } from './credits/usage-hook.ts';
import type { DataFolder } from './data-folder.ts';
import type { Driver } from './drivers/driver.ts';
import { openImages } from './image-parts.ts';
import type { Builder } from './images/builders/builder.ts';
import type { NativeBuilder } from './images/builders/native/native-builder.ts';
import { keepInstallation, keptInstallation } from './installation.ts';
import { Journal } from './network/journal.ts';
import type { EgressLog } from './network/proxy/egress-gates.ts';
import { SandboxRules } from './network/sandbox-rules.ts';
import type { Secrets } from './network/secrets/secrets.ts';
import { openNativeBuilder } from './open-builders.ts';
import { chooseBuilder, openBuildkitBuilder } from './open-buildkit.ts';
import { type Egress, openEgress } from './open-egress.ts';
import { openExtraTrust } from './open-extra-trust.ts';
import { openSources } from './open-sources.ts';
import type { ControlPlaneOptions } from './plane-options.ts';
import { loadProfiles, type ProfileCatalog } from './profiles/catalog.ts';
import { ratesOf } from './routing/prices.ts';
import type { Router } from './routing/router.ts';
import { openRouting } from './routing-parts.ts';
import { Attachments } from './sandbox/attachments.ts';
import { stopUnpaid } from './sandbox/books.ts';
import { RoomSubjects } from './sandbox/building/room-subjects.ts';
import { checkAll } from './sandbox/doctor.ts';
import { Expiry } from './sandbox/expiry.ts';
import { Guests } from './sandbox/guests.ts';
import { Grace } from './sandbox/healing/grace.ts';
import { Papers } from './sandbox/healing/papers.ts';
import { HostReports } from './sandbox/host-reports.ts';
import { Idle } from './sandbox/idle.ts';
import { ImageChoice } from './sandbox/image-choice.ts';
import type { ImageCatalog } from './sandbox/images/image-catalog.ts';
import { InFlight } from './sandbox/in-flight.ts';
import { Leases } from './sandbox/leases.ts';
import { Networks } from './sandbox/networks.ts';
import { Plans } from './sandbox/plans.ts';
import { WarmPools } from './sandbox/pools/warm-pools.ts';
import { Reconciler } from './sandbox/reconciler.ts';
import { Runner } from './sandbox/runner.ts';
import { Sandboxes } from './sandbox/sandboxes.ts';
import type { SourcesPort } from './sandbox/sources-port.ts';
import { Stale } from './sandbox/stale.ts';
import { Tools } from './sandbox/tools/tools.ts';
import { Branches } from './sandbox/travel/branches.ts';
import { SnapshotKeeper } from './sandbox/travel/snapshot-keeper.ts';
import { Snapshots } from './sandbox/travel/snapshots.ts';
import { Stillness } from './sandbox/travel/stillness.ts';
import { SandboxesInUse } from './sandbox/usage.ts';
import { defaultDeadlines, type WorkContext } from './sandbox/work-context.ts';
import { openSecrets } from './secret-parts.ts';
import { Archives } from './snapshot-content/archives.ts';
import { Diffs } from './snapshot-content/diffs.ts';
import { openStore, type Store } from './store/store.ts';
import type { Metrics, StorageNumbers } from './telemetry/metrics.ts';
import type { Spans } from './telemetry/spans.ts';
import { openMetrics, openTracing } from './telemetry-parts.ts';
import { Keys } from './tenancy/keys.ts';
import { Tenancy } from './tenancy/tenancy.ts';
import { openSinks, openUsagePoster, type Sinks } from './webhook-parts.ts';
import type { Webhooks } from './webhooks/webhooks.ts';

export type { ControlPlaneOptions } from './plane-options.ts';

/** Everything of the server but the ways to reach it. */
export interface ControlPlane {
  readonly store: Store;
  readonly drivers: readonly Driver[];
  readonly profiles: ProfileCatalog;
  readonly router: Router;
  readonly runner: Runner;
  readonly sandboxes: Sandboxes;
  readonly guests: Guests;
  readonly snapshots: Snapshots;
  readonly branches: Branches;
  readonly diffs: Diffs;
  readonly archives: Archives;
  readonly attachments: Attachments;
  readonly tools: Tools;
  readonly networks: Networks;
  readonly reconciler: Reconciler;
  readonly expiry: Expiry;
  readonly leases: Leases;
  readonly plans: Plans;
  readonly builds: Builds;
  readonly images: ImageCatalog;
  readonly pools: WarmPools;
  readonly hosts: HostReports;
  readonly stale: Stale;
  readonly secrets: Secrets;
  readonly sources: SourcesPort | undefined;
  readonly webhooks: Webhooks;
  readonly sinks: Sinks;
  readonly keys: Keys;
  readonly tenancy: Tenancy;
  readonly audit: Audit;
  readonly credits: Credits;
  readonly settlement: Settlement;
  readonly metrics: Metrics;
  readonly spans: Spans;
  readonly usage: SandboxesInUse;
  /** How full the place of root filesystems is. */
  storageRoom(): Promise<StorageNumbers | undefined>;
  readonly egress: Egress;
  /** Makes images with nothing but what runs sandboxes here; undefined where that is not possible. */
  readonly nativeBuilder: NativeBuilder | undefined;
  /** What images are built with here; undefined where nothing can be. */
  readonly builder: Builder | undefined;
  readonly builders: readonly Builder[];
  doctor(): Promise<Doctor['checks']>;
  close(): Promise<void>;
}

export async function openControlPlane(folder: DataFolder, options: ControlPlaneOptions): Promise<ControlPlane> {
  const undo: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    return { ...(await assemble(folder, options, undo)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Makes every part in order; `undo` gets what each of them needs to end. */
async function assemble(
  folder: DataFolder,
  options: ControlPlaneOptions,
  undo: (() => Promise<void>)[],
): Promise<Omit<ControlPlane, 'close'>> {
  const profiles = loadProfiles(folder.file('profiles'));
  if (options.databaseUrl) {
    const lock = await takeDatabase(options.databaseUrl, options.onSuperseded);
    undo.push(() => lock.close());
  }
  const location = options.databaseUrl ? { postgres: options.databaseUrl } : { sqlite: folder.file('caisson.db') };
  const kept = keptInstallation(folder.file('installation.json'));
  const store = await openStore(location, kept?.id);
  undo.push(() => store.close());
  const installation = keepInstallation(folder.file('installation.json'), store.installation, kept);
  const audit = new Audit(store, new Spool(folder.file('audit-pending')));
  undo.push(() => audit.close());
  await audit.open();
  const journal = new Journal(store);
  undo.push(() => journal.close());
  const rules = new SandboxRules(store);
  const host = hostname();
  await store.hosts.seen(host, options.version);
  await store.idempotency.prune();
  await store.toolCalls.prune();
  const extra = openExtraTrust(options.extraCa);
  const wanted = options.drivers ?? defaultDrivers;
  const backends = await openBackends(folder, store.installation, wanted, options.storage, options.engines, {
    ...options.registries,
    agent: extra.agent,
  });
  undo.push(() => backends.close());
  const { drivers, filesystems, images, backendImages } = backends;
  const routing = await openRouting(folder, store, drivers, host, filesystems);
  undo.push(() => routing.close());
  const { router, health } = routing;
  const deadlines = { ...defaultDeadlines, ...options.deadlines };
  const limits = { sandboxesPerTenant: null, sandboxesPerHost: null, ...options.limits };
  const {
    vault,
    secrets,
    inside,
    projects,
    egress: outgoing,
  } = openSecrets(folder, store, {
    key: options.secretsKey,
    log: options.log,
  });
  const subjects = new RoomSubjects(rules);
  const parts = { subjects, journal, secrets: outgoing };
  const egress = openEgress(store, drivers, parts, { ...options.egress, roots: extra.roots }, options.log ?? silent);
  undo.push(() => egress.close());
  const service = { version: options.version, instance: store.installation };
  const tracing = openTracing(options.traces ?? {}, service, options.log);
  undo.push(() => tracing.close());
  const { spans } = tracing;
  const indexFolder = folder.file('package-index');
  const plans = new Plans({ profiles, images, indexFolder, agent: extra.agent, names: options.packageNames });
  const rooms = { deadlines, installation: store.installation };
  const hold = <T>(id: Id<'sandbox'>, task: () => Promise<T>) => runner.whileIdle(id, task);
  const brings = {
    folder,
    drivers,
    filesystems,
    images,
    backendImages,
    plans,
    builder: () => builder,
    rooms,
    egress,
    subjects: rules,
    projects,
    secrets: store.secrets,
    hold,
  };
  const sources = options.sources ?? openSources(brings, options.sourceSettings ?? {});
  const builds = new Builds({
    store,
    spans,
    context: sources && ((request) => sources.context(request)),
    ...options.builds,
    warn: (error, what) => options.log?.warn({ err: error }, what),
  });
  const work: WorkContext = {
    store,
    spans,
    deadlines,
    installation: store.installation,
    papers: new Papers(installation),
    driver: (name) => findDriver(drivers, name),
    rates: (backend, { cpuMillis, ...size }) => ratesOf(router.prices, backend, { ...size, cpus: cpuMillis / 1000 }),
    filesystems,
    backendImages,
    health,
    profile: ({ profile }) => (profile ? profiles.find(profile.name, profile.version) : undefined),
    selfChecks: ({ profile }) => (profile && profiles.find(profile.name, profile.version)?.selfCheck) ?? false,
    stillness: new Stillness(),
    inFlight: new InFlight(),
    secrets: inside,
    imageChoice: new ImageChoice({ plans, builds, images, sources }),
    subjects: rules,
  };
  const runner = new Runner(work);
  const { authority } = extra;
  const native = openNativeBuilder({ filesystems, drivers, subjects, gates: egress.gates, runner, work, authority });
  undo.push(async () => native?.close());
  const buildkit = openBuildkitBuilder({
    images: backends.images,
    guestProgram,
    engines: options.engines ?? {},
    installation: store.installation,
    gates: egress.gates,
    subjects,
    wanted: options.buildWith,
    authority,
  });
  undo.push(async () => buildkit?.close());
  const builders = [native, buildkit].flatMap((opened) => (opened ? [opened.builder] : []));
  const builder = options.builder ?? chooseBuilder(builders, options.buildWith);
  const pools = new WarmPools({ work, runner, router, profiles, limits, host });
  const sandboxes = new Sandboxes({ work, runner, router, profiles, limits, pools });
  const idle = new Idle(work, runner);
  undo.push(async () => idle.stop());
  await idle.start();
  const guests = new Guests({ work, runner, sandboxes, idle });
  const snapshots = new Snapshots(work, sandboxes);
  const expiry = new Expiry({
    ...{ work, runner, profiles, snapshots, idle },
    failed: ({ sandbox, why }, error) => {
      metrics.service.leaseChanged('failed');
      options.log?.warn({ sandbox: sandbox.id, why, err: error }, 'a lease could not be ended; it is tried again');
    },
    ended: ({ why }, lateMs) => metrics.service.leaseEnded(why, lateMs),
  });
  undo.push(() => expiry.close());
  const extended = (granted: boolean) => metrics.service.leaseChanged(granted ? 'extended' : 'extension-refused');
  const leases = new Leases({ store, sandboxes, keeper: expiry.keeper, extended });
  const tools = new Tools({
    work,
    sandboxes,
    guests,
    snapshotAfter: (sandbox, call) => snapshots.tool(sandbox, call),
  });
  const networks = new Networks({ store, sandboxes, rules, journal, gates: egress.gates });
  const branches = new Branches({ work, runner, sandboxes, snapshots, profiles, limits, host });
  const diffs = new Diffs({ store, filesystems, sandboxes, snapshots, drivers });
  const archives = new Archives({ store, filesystems, snapshots, profiles, drivers });
  const keeper = new SnapshotKeeper(work, snapshots, drivers);
  const { orphanGraceSeconds } = options;
  const grace = new Grace(orphanGraceSeconds === undefined ? undefined : orphanGraceSeconds * 1000);
  const { recovered } = backends;
  const reconciler = new Reconciler({ work, runner, expiry, keeper, drivers, grace, recovered });
  for (const driver of drivers) {
    // What cannot be looked at now is seen at the next pass.
    driver.onEnded = (key) => void reconciler.look(key).catch(() => {});
  }
  const storageRoom = async () => filesystems?.room.health();
  const numbers = { store, runner, pools, egress, journal, tracing, router, audit, storageRoom };
  const isUsageTold = options.usageHook !== undefined;
  const metrics = openMetrics({ ...numbers, isUsageTold, webhooks: () => sinks.numbers() });
  const usage = new SandboxesInUse(sandboxes, guests);
  const sinkSettings = { ...options.sinks, roots: extra.roots };
  const sinks = openSinks(store, vault, sinkSettings, {
    ...{ version: options.version, log: options.log },
    tried: (outcome, ageMs) => metrics.service.delivery(outcome, ageMs),
  });
  undo.push(() => sinks.close());
  const doctor = () => checkAll({ store, drivers, folder: folder.path, filesystems, vault, builders, builder });
  const { version } = options;
  const hosts = new HostReports({
    store,
    drivers,
    router,
    pools,
    profiles,
    filesystems,
    limits,
    host,
    folder: folder.path,
    version,
  });
  const stale = new Stale({ work, runner, sandboxes, reconciler, drivers });
  undo.push(() => builds.close());
  await builds.open(builder);
  const { images: catalog, stop } = openImages({
    store,
    secrets,
    backends,
    limits: options.imageLimits,
    log: options.log,
  });
  undo.push(stop);
  const keys = new Keys(store);
  const warn = (err: unknown, what: string) => options.log?.warn({ err }, what);
  const settlement = new Settlement({ store, exhausted: (sandbox) => stopUnpaid(store, runner, sandbox), warn });
  undo.push(() => settlement.stop());
  settlement.start();
  if (options.usageHook) {
    const hook = new UsageHook(store, openUsagePoster(options.usageHook, options.sinks ?? {}, version), warn);
    undo.push(() => hook.close());
    hook.start();
  }
  const attachments = new Attachments();
  return {
    store,
    drivers,
    profiles,
    router,
    runner,
    sandboxes,
    guests,
    snapshots,
    branches,
    diffs,
    archives,
    attachments,
    tools,
    networks,
    reconciler,
    expiry,
    leases,
    plans,
    builds,
    images: catalog,
    pools,
    hosts,
    stale,
    secrets,
    sources,
    webhooks: sinks.webhooks,
    sinks,
    keys,
    tenancy: new Tenancy(store, keys),
    audit,
    credits: new Credits(store, settlement),
    settlement,
    metrics,
    spans,
    usage,
    storageRoom,
    egress,
    nativeBuilder: native?.builder,
    builder,
    builders,
    doctor,
  };
}

const silent: EgressLog = { warn() {} };

/** The lock is loaded only where there is a Postgres to hold. */
async function takeDatabase(url: string, superseded: () => void = () => {}) {
  const { DatabaseLock } = await import('./store/database-lock.ts');
  return DatabaseLock.take(url, superseded);
}

function findDriver(drivers: readonly Driver[], name: string | null): Driver {
  const driver = drivers.find((candidate) => candidate.name === name);
  if (!driver) throw new CaissonError('driver_not_found', `the driver ${name} is not installed here`);
  return driver;
}
