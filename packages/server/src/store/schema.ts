import type { Generated } from 'kysely';

/**
 * The tables, the same on both engines.
 *
 * Laws
 * - Times are whole milliseconds since 1970; JSON is text; there are no booleans. So a row reads the same from SQLite and
 *   from Postgres, and no driver's idea of a type comes between.
 * - Every row that somebody owns carries its tenant.
 * - `events` is append-only; `ledger` is append-only.
 */
export interface Schema {
  meta: { key: string; value: string };
  tenants: { name: string; max_sandboxes: number | null; live_sandboxes: number; created_at: number };
  projects: { tenant: string; name: string; created_at: number };
  principals: { tenant: string; name: string; kind: string; created_at: number };
  api_keys: ApiKeyTable;
  hosts: HostTable;
  sandboxes: SandboxTable;
  sandbox_labels: { sandbox: string; key: string; value: string };
  attempts: AttemptTable;
  instances: InstanceTable;
  events: EventTable;
  jobs: JobTable;
  builds: BuildTable;
  build_log: { build: string; position: number; bytes: number; item: string };
  idempotency: IdempotencyTable;
  images: { digest: string; reference: string | null; size_bytes: number; created_at: number; used_at: number };
  snapshots: SnapshotTable;
  processes: ProcessTable;
  tool_calls: ToolCallTable;
  shared_ports: SharedPortTable;
  ledger: LedgerTable;
  backends: { driver: string; host: string; launch_us: number; weight_millis: number; measured_at: number };
  sandbox_rules: { sandbox: string; rules: string; revision: number; updated_at: number };
  egress_log: EgressLogTable;
  egress_usage: EgressUsageTable;
  secrets: SecretTable;
  pools: { profile: string; min_members: number; max_members: number; updated_at: number };
}

export interface ApiKeyTable {
  id: string;
  hash: string;
  name: string;
  tenant: string;
  project: string;
  principal: string;
  scope: string;
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
}

export interface HostTable {
  name: string;
  max_sandboxes: number | null;
  live_sandboxes: number;
  version: string;
  seen_at: number;
}

export interface SandboxTable {
  id: string;
  tenant: string;
  project: string;
  principal: string;
  scope: string | null;
  name: string | null;
  /** What `ensure` and one-per-owner look up; unique among sandboxes that are not destroyed. */
  slot: string | null;
  profile_name: string | null;
  profile_version: number | null;
  state: string;
  action: string | null;
  reason_code: string | null;
  reason_message: string | null;
  incarnation: number;
  /** The sequence of its newest event. */
  sequence: number;
  labels: string;
  attempt: string | null;
  driver: string | null;
  host: string | null;
  blueprint_digest: string;
  persistence: string;
  notices: string;
  created_at: number;
  updated_at: number;
  ready_at: number | null;
  expires_at: number | null;
  policy: Generated<string>;
  turn: Generated<number>;
  head: string | null;
  rollback_to: string | null;
  origin_sandbox: string | null;
  origin_snapshot: string | null;
  /** The warm pool that it is a member of. */
  pool: string | null;
}

export interface AttemptTable {
  id: string;
  sandbox: string;
  tenant: string;
  incarnation: number;
  action: string;
  state: string;
  reason_code: string | null;
  reason_message: string | null;
  driver: string | null;
  spec: string;
  resolved_spec: string;
  blueprint: string;
  blueprint_digest: string;
  /** The snapshot that its files come from, in place of an image. */
  from_snapshot: string | null;
  /** See `AttemptImage`; null until it has succeeded. */
  image: string | null;
  /** See `StoredRoute`; null where nothing was to be decided. */
  route: string | null;
  /** Of what is built; see `AttemptPlan`. */
  plan_digest: string | null;
  plan: string | null;
  build: string | null;
  /** The digest of the image to begin from, where that is decided before the launch. */
  from_image: string | null;
  /** See `SourceFacts`. */
  sources: string | null;
  started_at: number;
  ended_at: number | null;
}

export interface InstanceTable {
  sandbox: string;
  incarnation: number;
  driver: string;
  host: string;
  state: string;
  created_at: number;
  ended_at: number | null;
}

export interface EventTable {
  position: Generated<number>;
  id: string;
  type: string;
  subject: string;
  sequence: number;
  tenant: string;
  project: string;
  time: number;
  data: string;
}

export interface JobTable {
  id: string;
  kind: string;
  unique_key: string | null;
  tenant: string | null;
  payload: string;
  state: string;
  priority: number;
  tries: number;
  max_tries: number;
  run_at: number;
  lease_owner: string | null;
  lease_until: number | null;
  error: string | null;
  created_at: number;
  updated_at: number;
}

export interface BuildTable {
  id: string;
  job: string;
  /** Builds with one key give images that stand in for each other. */
  key: string;
  tenant: string;
  project: string;
  principal: string;
  scope: string | null;
  plan_digest: string;
  plan: string;
  state: string;
  builder: string | null;
  tries: number;
  steps: string;
  error: string | null;
  /** The digest of what was built. */
  image: string | null;
  materials: string | null;
  log_bytes: number;
  left_out_bytes: number;
  created_at: number;
  started_at: number | null;
  ended_at: number | null;
}

export interface IdempotencyTable {
  caller: string;
  key: string;
  request_hash: string;
  sandbox: string | null;
  status: number | null;
  answer: string | null;
  created_at: number;
}

export interface SnapshotTable {
  id: string;
  sandbox: string;
  tenant: string;
  project: string;
  principal: string;
  kind: string;
  name: string | null;
  turn: number | null;
  parent: string | null;
  state: string;
  labels: string;
  created_at: number;
  scope: string | null;
  /** What a sandbox made from it is made of: see `SnapshotInputs`. */
  inputs: string;
  blueprint_digest: string;
  frozen_us: number | null;
}

export interface ProcessTable {
  id: string;
  sandbox: string;
  tenant: string;
  command: string;
  state: string;
  exit_code: number | null;
  started_at: number;
  ended_at: number | null;
}

export interface ToolCallTable {
  sandbox: string;
  call_id: string;
  tenant: string;
  request_hash: string;
  answer: string | null;
  created_at: number;
}

export interface SecretTable {
  tenant: string;
  project: string;
  name: string;
  /** The value, encrypted with a key that is not in the database and bound to the row and to where it may go. */
  sealed: string;
  domains: string;
  ports: string;
  header: string | null;
  placeholder: string | null;
  env: string | null;
  created_at: number;
  updated_at: number;
  last_used_at: number | null;
}

export interface SharedPortTable {
  sandbox: string;
  port: number;
  /** New with each open after a close: what was signed for another one counts no more. */
  share: string;
  visibility: string;
  host_header: string;
  /** Of a private one. */
  token_hash: string | null;
  opened_at: number;
}

/** Double entry: every movement is two rows of one `transfer` whose amounts add up to nothing. Micro-units. */
export interface LedgerTable {
  id: string;
  transfer: string;
  account: string;
  tenant: string;
  sandbox: string | null;
  amount: number;
  kind: string;
  created_at: number;
}

/** Equal decisions of one moment are one row with a count. */
export interface EgressLogTable {
  position: Generated<number>;
  sandbox: string;
  time: number;
  verdict: string;
  host: string;
  port: number;
  protocol: string;
  address: string | null;
  rule: string | null;
  why: string | null;
  suggestion: string | null;
  /** Names, as JSON; null for none. */
  secrets: string | null;
  count: number;
}

export interface EgressUsageTable {
  sandbox: string;
  host: string;
  sent: number;
  received: number;
  connections: number;
  allowed: number;
  refused: number;
}
