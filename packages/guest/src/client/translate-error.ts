import { CaissonError, type ErrorCode } from '@caisson/contract';
import type { GuestErrorCode } from '../protocol/errors.ts';
import type { Reset } from '../protocol/messages.ts';
import type { MethodName } from '../protocol/methods.ts';

/**
 * The edge where the guest's errors become ours. The contract speaks of sandboxes, the guest of files and processes; what
 * has no code of its own keeps the guest's in `context.guestCode`, so that an API can still tell them apart.
 */
const codes: Partial<Record<GuestErrorCode, ErrorCode>> = {
  not_found: 'file_not_found',
  not_a_directory: 'file_not_found',
  permission_denied: 'file_forbidden',
  already_exists: 'file_exists',
  is_a_directory: 'file_invalid',
  not_empty: 'file_invalid',
  name_too_long: 'file_invalid',
  too_many_links: 'file_invalid',
  too_large: 'file_invalid',
  read_only: 'file_forbidden',
  cross_device: 'file_invalid',
  invalid_argument: 'request_invalid',
  user_not_found: 'request_invalid',
  not_executable: 'request_invalid',
  no_space: 'disk_quota_exceeded',
  quota_exceeded: 'disk_quota_exceeded',
  busy: 'invalid_state',
  process_not_found: 'process_not_found',
  process_exited: 'invalid_state',
  timed_out: 'request_timeout',
  cancelled: 'action_cancelled',
  limit_reached: 'too_many_streams',
  out_of_memory: 'out_of_memory',
  connection_refused: 'port_refused',
  shutting_down: 'guest_unreachable',
};

/** Where the limit is of something else than streams. A worker for files that could not be forked is a process too. */
const EAGAIN = 11;

function codeOf(method: MethodName, { code, errno }: Reset): ErrorCode {
  if (code === 'limit_reached' && (method === 'process.spawn' || errno === EAGAIN)) return 'too_many_processes';
  return codes[code] ?? 'guest_failed';
}

export function fromReset(method: MethodName, reset: Reset): CaissonError {
  const code = codeOf(method, reset);
  return new CaissonError(code, reset.message === '' ? undefined : reset.message, {
    context: { guestCode: reset.code, method, ...(reset.errno === undefined ? {} : { errno: reset.errno }) },
  });
}

/** The code of the guest behind an error, when there is one. */
export function guestCodeOf(error: unknown): GuestErrorCode | undefined {
  if (!(error instanceof CaissonError)) return undefined;
  const { guestCode } = error.context;
  return typeof guestCode === 'string' ? (guestCode as GuestErrorCode) : undefined;
}

/** The caller gave up: a deadline of its own, or a wish. */
export function fromAbort(signal: AbortSignal): CaissonError {
  const { reason } = signal;
  if (reason instanceof CaissonError) return reason;
  const isTimeout = reason instanceof Error && reason.name === 'TimeoutError';
  return new CaissonError(isTimeout ? 'request_timeout' : 'action_cancelled', undefined, { cause: reason });
}

/** The connection ended before the answer: whether the guest did it is not known. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
}

/** For what cannot be asked again where it left off: the caller learns that the guest could not be reached. */
export function unreachable(cause: unknown): CaissonError {
  return new CaissonError('guest_unreachable', undefined, { cause });
}
