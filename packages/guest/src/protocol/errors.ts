/**
 * Why a request failed: the code of a `reset`. The table is closed; a new code needs a new protocol version, because a
 * receiver refuses a number it does not know. `errno` tells how the guest maps what the kernel answers.
 */
export interface GuestError {
  readonly code: number;
  readonly errno: readonly string[];
  /** Whether the same request may succeed later without anybody changing anything first. */
  readonly retry: boolean;
  readonly about: string;
}

const row = (code: number, errno: readonly string[], retry: boolean, about: string): GuestError => ({
  code,
  errno,
  retry,
  about,
});

export const guestErrors = {
  not_found: row(1, ['ENOENT', 'ENODATA'], false, 'no such file, directory or attribute'),
  permission_denied: row(2, ['EACCES', 'EPERM'], false, 'the chosen user may not'),
  already_exists: row(3, ['EEXIST'], false, 'the target is already there'),
  not_a_directory: row(4, ['ENOTDIR'], false, 'a part of the path is not a directory'),
  is_a_directory: row(5, ['EISDIR'], false, 'a file was needed'),
  not_empty: row(6, ['ENOTEMPTY'], false, 'the directory holds something and recursion was not asked for'),
  no_space: row(7, ['ENOSPC'], false, 'the filesystem is full'),
  quota_exceeded: row(8, ['EDQUOT'], false, 'the disk quota of the sandbox is used up'),
  too_large: row(9, ['EFBIG', 'E2BIG', 'ERANGE'], false, 'larger than the kernel or a limit of the protocol allows'),
  name_too_long: row(10, ['ENAMETOOLONG'], false, 'a path or a part of it is too long'),
  too_many_links: row(11, ['ELOOP', 'EMLINK'], false, 'symbolic links lead in a circle, or too many hard links'),
  read_only: row(12, ['EROFS'], false, 'the filesystem is read-only'),
  cross_device: row(13, ['EXDEV'], false, 'a move from one filesystem to another cannot be atomic'),
  busy: row(14, ['EBUSY', 'ETXTBSY'], true, 'in use: a stream that is attached elsewhere, a process that still runs'),
  invalid_argument: row(15, ['EINVAL'], false, 'the request contradicts itself or the object'),
  unknown_method: row(16, [], false, 'this guest does not have the method'),
  not_understood: row(17, [], false, 'the parameters hold a must-understand field that this guest does not know'),
  not_supported: row(18, ['ENOTSUP', 'ENOSYS'], false, 'this kernel or filesystem cannot'),
  process_not_found: row(
    19,
    ['ESRCH'],
    false,
    'no process of that id; never spawned, or forgotten, or the guest restarted',
  ),
  process_exited: row(20, ['EPIPE'], false, 'the process or its end of the pipe is gone'),
  user_not_found: row(21, [], false, 'the passwd file has no such user'),
  not_executable: row(22, ['ENOEXEC'], false, 'the program exists and cannot be run'),
  connection_refused: row(23, ['ECONNREFUSED'], true, 'nobody listens on the port'),
  timed_out: row(24, ['ETIMEDOUT'], true, 'the time that the request allowed is over'),
  cancelled: row(25, ['ECANCELED', 'ECONNRESET'], false, 'the other side wants no more; also the answer to its reset'),
  limit_reached: row(
    26,
    ['EMFILE', 'ENFILE', 'EAGAIN'],
    true,
    'as many as a limit allows: processes, watches, descriptors',
  ),
  out_of_memory: row(27, ['ENOMEM'], true, 'the guest could not allocate'),
  denied: row(28, [], false, 'the network policy refuses the connection'),
  shutting_down: row(29, [], true, 'the open crossed a goaway and was not begun'),
  io_error: row(30, ['EIO'], false, 'any other errno, which the reset carries'),
} as const satisfies Record<string, GuestError>;

export type GuestErrorCode = keyof typeof guestErrors;

/** The choices of the field `reset.code`. */
export const guestErrorNumbers = Object.fromEntries(
  Object.entries(guestErrors).map(([name, { code }]) => [name, code]),
) as Readonly<Record<GuestErrorCode, number>>;
