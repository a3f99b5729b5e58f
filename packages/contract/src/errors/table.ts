/**
 * Every error that Caisson can answer, in one table. HTTP, CLI, SDK and `docs/errors.md` render from it.
 *
 * Laws
 * - A code means one thing for ever; it is renamed by adding a new one.
 * - `retryable` says that the very same request may succeed later without anybody changing anything.
 * - `hint` says what to do next. The message of a single occurrence says what happened; the hint is the same each time.
 * - `not_supported` is a kind. A code under it names the ability that is missing.
 */

/** HTTP status and CLI exit code of each kind. Exit codes below 64 are left to commands run in a sandbox. */
export const errorKinds = {
  invalid: { status: 400, exitCode: 65, means: 'the request is wrong and stays wrong' },
  unauthenticated: { status: 401, exitCode: 77, means: 'no key, or not a valid one' },
  forbidden: { status: 403, exitCode: 77, means: 'the key may not do this' },
  not_found: { status: 404, exitCode: 66, means: 'there is no such thing, or it is not yours' },
  conflict: { status: 409, exitCode: 73, means: 'the request does not fit the present state' },
  gone: { status: 410, exitCode: 66, means: 'it existed and has ended' },
  limit: { status: 429, exitCode: 75, means: 'a limit has been reached' },
  payment: { status: 402, exitCode: 78, means: 'there are not enough credits' },
  not_supported: { status: 501, exitCode: 69, means: 'the backend does not have this ability' },
  failed: { status: 502, exitCode: 70, means: 'a component under Caisson failed' },
  unavailable: { status: 503, exitCode: 75, means: 'Caisson or a component is not there at the moment' },
  timeout: { status: 504, exitCode: 75, means: 'it took longer than it may' },
  internal: { status: 500, exitCode: 70, means: 'a defect of Caisson' },
} as const;

export type ErrorKind = keyof typeof errorKinds;

interface ErrorRow {
  readonly kind: ErrorKind;
  /** Only where the kind's status would mislead a client. */
  readonly status?: number;
  readonly retryable: boolean;
  readonly title: string;
  readonly hint: string;
}

function row(
  kind: ErrorKind,
  title: string,
  hint: string,
  extra: { retryable?: true; status?: number } = {},
): ErrorRow {
  return { kind, title, hint, retryable: extra.retryable ?? false, ...(extra.status ? { status: extra.status } : {}) };
}

const later = { retryable: true } as const;

export const errorTable = {
  // The request itself
  request_invalid: row('invalid', 'The request is not valid', 'Correct the fields named in `problems`.'),
  spec_invalid: row(
    'invalid',
    'The workspace spec is not valid',
    'Correct the fields named in `problems`; `caisson spec check` shows them without creating anything.',
    { status: 422 },
  ),
  profile_invalid: row('invalid', 'The profile is not valid', 'Correct the fields named in `problems`.', {
    status: 422,
  }),
  profile_cycle: row('invalid', 'The profile extends itself', 'Break the chain of `extends` that the message names.', {
    status: 422,
  }),
  input_missing: row(
    'invalid',
    'The profile needs an input that was not given',
    'Give it with `--input name=value`; `caisson profile get` lists the inputs.',
    { status: 422 },
  ),
  body_too_large: row('invalid', 'The request body is too large', 'Send less, or use the streaming file routes.', {
    status: 413,
  }),
  headers_too_large: row('invalid', 'The request headers are too large', 'Send fewer or shorter headers.', {
    status: 431,
  }),
  body_malformed: row('invalid', 'The request body cannot be read', 'Send valid JSON (or YAML where a spec is taken).'),
  media_type_unsupported: row('invalid', 'The media type is not understood', 'Send `application/json`.', {
    status: 415,
  }),
  range_invalid: row(
    'invalid',
    'The range lies outside of the file',
    'Ask for a range within the size that `stat` tells.',
    { status: 416 },
  ),
  cursor_invalid: row(
    'invalid',
    'The page cursor is not valid',
    'Use the `next` of the previous page unchanged, or start without one.',
  ),
  idempotency_key_reused: row(
    'conflict',
    'The idempotency key was used with another request',
    'Use a new key for a new request.',
  ),
  idempotency_in_progress: row(
    'conflict',
    'A request with this idempotency key is still running',
    'Repeat the request in a moment; it will answer the same.',
    later,
  ),

  // Who asks
  unauthenticated: row(
    'unauthenticated',
    'A valid API key is needed',
    'Send `Authorization: Bearer <key>` or `X-API-Key`; `caisson keys create` makes one.',
  ),
  scope_missing: row('forbidden', 'The key lacks a scope', 'Use a key with the scope that the message names.'),
  host_refused: row(
    'forbidden',
    'The Host or Origin is not one of this server',
    'Call it by its own address; add the name to `--allow-host` if it is yours.',
    { status: 421 },
  ),
  not_owner: row(
    'forbidden',
    'The sandbox belongs to another principal of the project',
    'Ask its principal, or use a key with the scope `manage`.',
  ),

  // Things that are not there
  route_not_found: row('not_found', 'There is no such route', 'See `/docs` for the routes.'),
  method_not_allowed: row('not_found', 'The route does not take this method', 'See `/docs` for the routes.', {
    status: 405,
  }),
  sandbox_not_found: row('not_found', 'There is no such sandbox', '`caisson list` shows yours.'),
  profile_not_found: row('not_found', 'There is no such profile', '`caisson profile list` shows them.'),
  snapshot_not_found: row('not_found', 'There is no such snapshot', '`caisson snapshots list` shows them.'),
  process_not_found: row('not_found', 'There is no such process', '`caisson ps` shows those of a sandbox.'),
  job_not_found: row('not_found', 'There is no such job', 'It may have been pruned; the attempt still says what ran.'),
  key_not_found: row('not_found', 'There is no such API key', '`caisson keys list` shows them.'),
  attempt_not_found: row('not_found', 'There is no such attempt', '`caisson get` shows the attempts of a sandbox.'),
  image_not_found: row(
    'not_found',
    'The image cannot be found',
    'Check the reference; `caisson doctor` shows which registries answer.',
  ),
  driver_not_found: row(
    'not_found',
    'There is no such driver',
    '`caisson doctor` lists the drivers of this installation.',
  ),
  host_not_found: row('not_found', 'There is no such host', '`caisson inspect host` lists them.'),
  file_not_found: row('not_found', 'There is no such file or folder in the sandbox', 'List the folder above it.'),

  // State of a sandbox
  sandbox_exists: row(
    'conflict',
    'The owner already has such a sandbox',
    'Use `ensure`, another name, or destroy the other one first.',
  ),
  sandbox_paused: row('conflict', 'The sandbox is paused', 'Resume it first: `caisson resume`.'),
  sandbox_stopped: row('conflict', 'The sandbox is stopped', 'Start it first: `caisson start`.'),
  sandbox_failed: row(
    'conflict',
    'The sandbox has failed',
    'Its `reason` says why; `caisson recreate` or `caisson destroy` it.',
  ),
  sandbox_not_ready: row(
    'conflict',
    'The sandbox is not ready yet',
    'Wait for `ready`: `caisson events -f` shows its progress.',
    later,
  ),
  sandbox_destroying: row('conflict', 'The sandbox is being destroyed', 'Create another one.'),
  sandbox_destroyed: row('gone', 'The sandbox has been destroyed', 'Create another one; its record and events remain.'),
  rollback_in_progress: row(
    'conflict',
    'The sandbox is being rolled back',
    'Repeat the request when it is ready again.',
    later,
  ),
  tools_in_flight: row('conflict', 'Tools are running in the sandbox', 'Wait for them, or force the request.', later),
  invalid_state: row(
    'conflict',
    'The sandbox is in a state that does not allow this',
    'See docs/lifecycle.md for what each state allows.',
  ),
  state_changed: row(
    'conflict',
    'Somebody else changed the sandbox at the same time',
    'Read it again and repeat the request if it still fits.',
    later,
  ),
  action_cancelled: row(
    'conflict',
    'The operation was cancelled by another one',
    'Read the sandbox to see its present state.',
  ),

  // Limits
  max_sandboxes_reached: row(
    'limit',
    'The limit on sandboxes has been reached',
    'Destroy some, or ask for a higher limit.',
    later,
  ),
  quota_exceeded: row('limit', "The tenant's quota is used up", 'Free some of it, or ask for more.', later),
  disk_quota_exceeded: row(
    'limit',
    'The disk of the sandbox is full',
    'Remove files in it, or recreate it with a larger `runtime.resources.diskMiB`.',
    { status: 507 },
  ),
  rate_limited: row('limit', 'Too many requests', 'Slow down; `Retry-After` says for how long.', later),
  too_many_streams: row('limit', 'Too many open streams', 'Close some first.', later),
  insufficient_credits: row(
    'payment',
    'There are not enough credits',
    '`caisson credits show` tells the balance, `caisson credits add` adds to it.',
  ),

  // Abilities that a backend lacks
  'unsupported-os': row(
    'not_supported',
    'The operating system cannot be built here',
    'Choose another `os`, or `mode: prefer`.',
    { status: 422 },
  ),
  'unsupported-harness': row(
    'not_supported',
    'The harness cannot be installed here',
    'Choose another harness or operating system.',
    { status: 422 },
  ),
  'unsupported-package': row(
    'not_supported',
    'A package is not available here',
    'Correct its name or version, or choose another operating system.',
    { status: 422 },
  ),
  'unsupported-access-mode': row(
    'not_supported',
    'The kind of access is not available here',
    'Switch `ssh` off and use `caisson shell`.',
    { status: 422 },
  ),
  'unsupported-runtime-requirement': row(
    'not_supported',
    'A requirement of the runtime cannot be met here',
    'Relax the requirement that the message names, or choose another driver.',
    { status: 422 },
  ),
  snapshots_not_available: row(
    'not_supported',
    'Snapshots are not available on this backend',
    'Choose a driver or storage with snapshots: `caisson doctor`.',
  ),
  pause_not_available: row(
    'not_supported',
    'This backend cannot pause',
    'Stop the sandbox instead, or choose another driver.',
  ),
  stop_not_available: row(
    'not_supported',
    'This backend cannot stop and start',
    'Destroy it, or choose another driver.',
  ),
  stats_not_available: row('not_supported', 'This backend reports no statistics', 'Choose another driver.'),
  meter_not_available: row('not_supported', 'This backend does not meter what it uses', 'Choose another driver.'),
  logs_not_available: row('not_supported', 'This backend keeps no logs', 'Choose another driver.'),
  quota_not_available: row(
    'not_supported',
    'This storage cannot limit disk space',
    'Choose another storage: `caisson doctor`.',
  ),
  network_not_available: row(
    'not_supported',
    'This backend cannot enforce the network rules',
    'Choose another `network.mode` or driver.',
  ),
  exec_not_available: row(
    'not_supported',
    'This backend runs no commands',
    'Choose a driver that launches a real sandbox: `caisson doctor`.',
  ),
  isolation_not_available: row(
    'not_supported',
    'This backend does not isolate as required',
    'Choose another driver or relax the profile.',
  ),

  // Components below
  driver_failed: row(
    'failed',
    'The driver could not do it',
    'The context has its last words; `caisson doctor` checks the backend.',
  ),
  driver_unavailable: row(
    'unavailable',
    'The driver cannot be used on this machine',
    '`caisson doctor` says why and what to install.',
  ),
  driver_timeout: row(
    'timeout',
    'The driver did not finish in time',
    'Repeat it; `caisson doctor` checks the backend.',
    later,
  ),
  no_route: row('unavailable', 'No backend can serve this', 'The context lists the reason of each candidate.'),
  guest_failed: row('failed', 'The guest in the sandbox failed', 'Recreate the sandbox; its events have the details.'),
  guest_unreachable: row(
    'unavailable',
    'The guest in the sandbox does not answer',
    'Repeat it in a moment; recreate the sandbox if it stays so.',
    later,
  ),
  instance_lost: row(
    'failed',
    'The sandbox has vanished from its backend',
    'Recreate it; the backend or somebody else removed it.',
  ),
  out_of_memory: row(
    'failed',
    'The sandbox ran out of memory',
    'Recreate it with a larger `runtime.resources.memoryMiB`.',
  ),
  storage_failed: row(
    'failed',
    'The storage could not do it',
    'The context has its last words; `caisson doctor` checks the storage.',
  ),
  storage_full: row(
    'unavailable',
    'The storage pool is full',
    'Destroy sandboxes or snapshots, or grow the pool.',
    later,
  ),
  build_failed: row(
    'failed',
    'The image could not be built',
    'The context names the step; `caisson build logs` has all of it.',
  ),
  registry_failed: row('failed', 'The image registry refused or failed', 'Check the reference and the credentials.'),
  database_unavailable: row(
    'unavailable',
    'The database does not answer',
    'Repeat it when it is back; `/readyz` tells.',
    later,
  ),
  data_folder_locked: row(
    'unavailable',
    'Another server uses the data folder',
    'Use that one, or stop it: `caisson stop-server`.',
  ),
  data_folder_newer: row(
    'unavailable',
    'The data folder was written by a newer version',
    'Install that version or a later one.',
  ),
  address_in_use: row('unavailable', 'The address is in use', 'Choose another with `--listen`, or stop what uses it.'),
  address_unavailable: row(
    'unavailable',
    'The address cannot be listened on',
    'Choose another with `--listen`, or run the server with the rights that it needs.',
  ),
  listen_needs_key: row(
    'invalid',
    'An address that others can reach needs an API key',
    'Make one first with `caisson keys create`, or listen on loopback.',
  ),
  server_unreachable: row(
    'unavailable',
    'The server cannot be reached',
    'Start one with `caisson serve`, or check the address.',
    later,
  ),
  shutting_down: row('unavailable', 'The server is shutting down', 'Repeat it in a moment.', later),
  request_timeout: row('timeout', 'The request took too long', 'Repeat it, or raise its time limit.', later),
  interrupted: row(
    'unavailable',
    'The operation was interrupted',
    'The record says what was done and undone; repeat it.',
    later,
  ),
  internal: row(
    'internal',
    'Something went wrong inside Caisson',
    'Report it with the request id; the log has the rest.',
  ),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof errorTable;

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(errorTable, value);
}

/** One code with everything that follows from its kind. */
export function errorFacts(code: ErrorCode) {
  const facts: ErrorRow = errorTable[code];
  const kind = errorKinds[facts.kind];
  return { code, ...facts, status: facts.status ?? kind.status, exitCode: kind.exitCode };
}
