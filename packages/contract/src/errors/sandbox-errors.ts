import { type ErrorRow, later, row } from './kinds.ts';

/** What a sandbox, a limit or a backend does not allow. */
export const sandboxErrors = {
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

  // Processes in it
  process_ended: row(
    'conflict',
    'The process has ended, or its stdin is closed',
    'Its record says how; start another.',
  ),
  process_busy: row(
    'conflict',
    'The process still runs, or somebody reads its output',
    'Wait for its end, or signal it; read its output with `follow`.',
  ),
  attachment_taken: row(
    'conflict',
    'Another reader has taken over the output of the process',
    'Attach again to take it back.',
  ),

  // Tools in it
  tool_interrupted: row(
    'conflict',
    'The server or the sandbox ended while the tool ran; nobody knows how far it came',
    'Look at what it did; a new call id runs it again.',
  ),

  // Limits
  max_processes_reached: row(
    'limit',
    'The sandbox cannot have another process',
    'End or forget some, or recreate it with a larger `runtime.resources.pids`.',
    later,
  ),
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
  build_queue_full: row(
    'limit',
    'The tenant has as many builds waiting as it may',
    'Wait until some have ended, or cancel some: `caisson build list`.',
    later,
  ),
  max_ports_reached: row('limit', 'The sandbox cannot have another open port', 'Close some: `caisson port list`.'),
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
  price_above_ceiling: row(
    'limit',
    'It would cost more than the price ceiling',
    'Raise `route.maxPricePerHourMicros` of the profile, ask for less, or choose another driver.',
    { status: 422 },
  ),
  snapshot_exists: row(
    'conflict',
    'The sandbox already has a snapshot of this name',
    'Choose another name, or remove the other one first.',
  ),
  max_snapshots_reached: row(
    'limit',
    'The sandbox cannot have another snapshot',
    'Remove some: `caisson snapshots list` shows them.',
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
  tool_not_available: row(
    'not_supported',
    'The sandbox lacks the program that the tool runs',
    'Add it to `packages` of the spec, or install it.',
    { status: 422 },
  ),
  isolation_not_available: row(
    'not_supported',
    'This backend does not isolate as required',
    'Choose another driver or relax the profile.',
  ),
} as const satisfies Record<string, ErrorRow>;
