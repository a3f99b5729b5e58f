import { sql } from 'kysely';
import { AdoptionStore } from './adoptions.ts';
import { AttemptStore } from './attempts.ts';
import { AuditStore } from './audit.ts';
import { BuildLogStore } from './build-log.ts';
import { BuildStore } from './builds.ts';
import { CreditStore } from './credits.ts';
import { type Database, openPostgres, openSqlite } from './database.ts';
import { EgressLog } from './egress-log.ts';
import { EgressUsageStore } from './egress-usage.ts';
import { type EventListener, EventLog } from './events.ts';
import { HostRepairStore } from './host-repairs.ts';
import { HostStore } from './hosts.ts';
import { IdempotencyStore } from './idempotency.ts';
import { ImageUses } from './image-uses.ts';
import { JobStore } from './jobs.ts';
import { KeyStore } from './keys.ts';
import { LeaseStore } from './leases.ts';
import { migrate } from './migrate.ts';
import { StoreNumbers } from './numbers.ts';
import { PoolStore } from './pools.ts';
import { QuotaStore } from './quota-store.ts';
import { RouteStore } from './routes.ts';
import { SandboxRuleStore } from './sandbox-rules.ts';
import { SandboxStore } from './sandboxes.ts';
import { SecretStore } from './secrets.ts';
import { SharedPortStore } from './shared-ports.ts';
import { SinkStore } from './sinks.ts';
import { SnapshotStore } from './snapshots.ts';
import { TenantStore } from './tenants.ts';
import { ToolCallStore } from './tool-calls.ts';
import { UsageLog } from './usage.ts';
import { WebhookStore } from './webhooks.ts';

/** The record of everything, whatever the engine. */
export interface Store {
  readonly engine: Database['engine'];
  readonly installation: string;
  readonly sandboxes: SandboxStore;
  readonly adoptions: AdoptionStore;
  readonly hostRepairs: HostRepairStore;
  readonly leases: LeaseStore;
  readonly attempts: AttemptStore;
  readonly routes: RouteStore;
  readonly snapshots: SnapshotStore;
  readonly imageUses: ImageUses;
  readonly toolCalls: ToolCallStore;
  readonly sharedPorts: SharedPortStore;
  readonly pools: PoolStore;
  readonly sandboxRules: SandboxRuleStore;
  readonly egressLog: EgressLog;
  readonly egressUsage: EgressUsageStore;
  readonly secrets: SecretStore;
  readonly events: EventLog;
  readonly sinks: SinkStore;
  readonly webhooks: WebhookStore;
  readonly jobs: JobStore;
  readonly builds: BuildStore;
  readonly buildLog: BuildLogStore;
  readonly keys: KeyStore;
  readonly idempotency: IdempotencyStore;
  readonly tenants: TenantStore;
  readonly quotas: QuotaStore;
  readonly audit: AuditStore;
  readonly credits: CreditStore;
  readonly usage: UsageLog;
  readonly hosts: HostStore;
  readonly numbers: StoreNumbers;
  /** Called with every event of a sandbox soon after it is committed. For the order there are positions. */
  onEvent(listener: EventListener): () => void;
  /** Throws `database_unavailable` when the database does not answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export type StoreLocation = { readonly sqlite: string } | { readonly postgres: string };

/** `kept`: the id that a new database gets, where the installation is older than it. */
export async function openStore(location: StoreLocation, kept?: string): Promise<Store> {
  const database = 'sqlite' in location ? await openSqlite(location.sqlite) : await openPostgres(location.postgres);
  let installation: string;
  try {
    installation = await migrate(database, kept);
  } catch (error) {
    await database.close().catch(() => {});
    throw error;
  }
  const listeners = new Set<EventListener>();
  const events = new EventLog(database, installation);
  const publish: EventListener = (event, sandbox) => {
    for (const listener of listeners) {
      try {
        listener(event, sandbox);
      } catch (error) {
        // What is committed is done, whatever a listener makes of it.
        process.emitWarning(error instanceof Error ? error : String(error));
      }
    }
  };
  return {
    engine: database.engine,
    installation,
    events,
    sandboxes: new SandboxStore(database, events, publish),
    adoptions: new AdoptionStore(database, events, publish),
    hostRepairs: new HostRepairStore(database, events, publish, installation),
    leases: new LeaseStore(database, events, publish),
    attempts: new AttemptStore(database),
    routes: new RouteStore(database, events, publish),
    snapshots: new SnapshotStore(database, events, publish),
    imageUses: new ImageUses(database),
    toolCalls: new ToolCallStore(database),
    sharedPorts: new SharedPortStore(database),
    pools: new PoolStore(database, events, publish),
    sandboxRules: new SandboxRuleStore(database, events, publish),
    egressLog: new EgressLog(database),
    egressUsage: new EgressUsageStore(database),
    secrets: new SecretStore(database),
    sinks: new SinkStore(database),
    webhooks: new WebhookStore(database),
    jobs: new JobStore(database),
    builds: new BuildStore(database),
    buildLog: new BuildLogStore(database),
    keys: new KeyStore(database),
    idempotency: new IdempotencyStore(database),
    tenants: new TenantStore(database),
    quotas: new QuotaStore(database, events, publish),
    audit: new AuditStore(database),
    credits: new CreditStore(database),
    usage: new UsageLog(database),
    hosts: new HostStore(database),
    numbers: new StoreNumbers(database),
    onEvent(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async ping() {
      await sql`select 1`.execute(database.db);
    },
    close: () => database.close(),
  };
}
