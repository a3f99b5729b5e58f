import { CaissonError, type ErrorCode, errorFacts } from '@caisson/contract';
import type { GuestErrorCode } from '../protocol/errors.ts';
import type { Reset } from '../protocol/messages.ts';
import type { MethodName } from '../protocol/methods.ts';

/**
 * The edge where the guest's errors become ours. The contract speaks of sandboxes, the guest of files and processes; what
 * has no code of its own keeps the guest's in `context.guestCode`, so that an API can still tell them apart.
 */
const codes: Partial<Record<GuestErrorCode, ErrorCode>> = {
  not_found: 'file_not_found',
  not_a_directory: 'file_not_directory',
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
  not_executable: 'command_not_found',
  no_space: 'disk_quota_exceeded',
  quota_exceeded: 'disk_quota_exceeded',
  busy: 'file_busy',
  process_not_found: 'process_not_found',
  process_exited: 'process_ended',
  timed_out: 'request_timeout',
  cancelled: 'action_cancelled',
  limit_reached: 'too_many_streams',
  out_of_memory: 'out_of_memory',
  connection_refused: 'port_refused',
  shutting_down: 'guest_unreachable',
};

/** The same answer means something else to a process than to a file, and to a program that is to become one. */
const processCodes: Partial<Record<GuestErrorCode, ErrorCode>> = {
  busy: 'process_busy',
};
const spawnCodes: Partial<Record<GuestErrorCode, ErrorCode>> = {
  not_found: 'command_not_found',
  not_a_directory: 'command_not_found',
  is_a_directory: 'command_not_found',
  permission_denied: 'command_not_found',
};

/** What fork(2) says at the limit. A worker for files that could not be forked is a process too. */
const EAGAIN = 11;

function codeOf(method: MethodName, { code, errno }: Reset): ErrorCode {
  if (code === 'limit_reached' && (method === 'process.spawn' || errno === EAGAIN)) return 'max_processes_reached';
  const special = method === 'process.spawn' ? spawnCodes : method.startsWith('process.') ? processCodes : undefined;
  return special?.[code] ?? codes[code] ?? 'guest_failed';
}

/** `subject`: the path that the request was about, when it was about one. */
export function fromReset(method: MethodName, reset: Reset, subject?: string): CaissonError {
  const code = codeOf(method, reset);
  const words = reset.message === '' ? errorFacts(code).title : reset.message;
  const isNamed = subject === undefined || words.includes(subject.slice(0, 200));
  return new CaissonError(code, isNamed ? words : `${subject.slice(0, 200)}: ${words}`, {
    context: {
      guestCode: reset.code,
      method,
      ...(reset.errno === undefined ? {} : { errno: reset.errno }),
      ...(subject === undefined ? {} : { path: subject }),
    },
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
