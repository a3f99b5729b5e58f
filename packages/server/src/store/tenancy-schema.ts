import type { Generated } from 'kysely';

/** The tables of who may what, and of who pays. The laws are those of `schema.ts`. */
export interface TenantTable {
  name: string;
  max_sandboxes: number | null;
  live_sandboxes: number;
  created_at: number;
  suspended_at: number | null;
  /** How many rows of `quotas` are its own. */
  quotas: Generated<number>;
  /** What it has and is not set aside; null is without limit. Sums of the ledger, as the three below. */
  credits: number | null;
  credits_held: Generated<number>;
  credits_used: Generated<number>;
  credits_unpaid: Generated<number>;
}

export interface QuotaTable {
  tenant: string;
  /** Empty for the whole tenant. */
  project: string;
  repairs: number;
  used_sandboxes: number;
  max_sandboxes: number | null;
  used_cpu_millis: number;
  max_cpu_millis: number | null;
  used_memory_mib: number;
  max_memory_mib: number | null;
  used_disk_mib: number;
  max_disk_mib: number | null;
  used_snapshots: number;
  max_snapshots: number | null;
  /** Those that wait or run are counted where one more is asked for. */
  max_builds: number | null;
}

export interface AuditTable {
  position: Generated<number>;
  id: string;
  time: number;
  tenant: string | null;
  project: string | null;
  principal: string | null;
  actor: string;
  key: string | null;
  action: string;
  subject: string | null;
  address: string | null;
  agent: string | null;
  status: number | null;
  code: string | null;
  request: string | null;
  detail: string | null;
  count: number;
}

/** Double entry: every movement is two rows of one `transfer` whose amounts add up to nothing. Micro-units. */
export interface LedgerTable {
  position: Generated<number>;
  transfer: string;
  account: string;
  tenant: string;
  sandbox: string | null;
  amount: number;
  kind: string;
  note: string | null;
  reference: string | null;
  created_at: number;
}

/** What a sandbox costs at the moment, since when, and what is set aside for it. */
export interface MeterTable {
  sandbox: string;
  tenant: string;
  phase: string;
  running_micros: number;
  paused_micros: number;
  stopped_micros: number;
  since: number;
  /** Of the last charge: what was less than a micro-unit, in micro-units times milliseconds of an hour. */
  remainder: number;
  held: number;
  /** How long ahead is set aside. */
  hold_ms: number;
  /** 1 once it was told that nothing is left beyond what is held. */
  told_low: number;
  ended_at: number | null;
}

export interface UsageTable {
  position: Generated<number>;
  id: string;
  tenant: string;
  project: string;
  principal: string;
  sandbox: string;
  driver: string;
  host: string;
  phase: string;
  began_at: number;
  ended_at: number;
  cpu_millis: number;
  memory_mib: number;
  disk_mib: number;
  per_hour: number;
  charged: number;
  unpaid: number;
}
