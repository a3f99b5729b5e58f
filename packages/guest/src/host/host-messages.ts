import { bool, bytes, type MessageDef, message, name, optional, repeated, text, uint } from '../protocol/field.ts';
import { limits } from '../protocol/limits.ts';

/**
 * What the server and the host program (`caisson-guest host`) say to each other over a pair of pipes.
 *
 * A request or an answer is twelve bytes, all little-endian: payload length (4), id of the request (4), operation or, in an
 * answer, 0 for done and 1 for failed (2), 0 (2); then the payload, a message of the guest protocol's encoding. Answers
 * come in any order. The end of the server's pipe ends the program, once what it started has ended.
 */
const path = (tag: number, about: string) => name(tag, limits.pathMax, about, 1);
const big = Number.MAX_SAFE_INTEGER;

export const hostRequestMax = limits.payloadMax;
/** Output that is kept of each stream of a command. */
export const hostOutputMax = 96 * 1024;
/** Operations that the program does at once, each in a child of its own. Programs that it runs do not count. */
export const hostTasksMax = 256;

export const hostDone = message('host_done', 'an operation that has nothing to say but that it is done', {});

export const hostFailed = message('host_failed', 'why an operation failed', {
  errno: uint(1, 4095, 'as Linux numbers it'),
  step: text(2, 256, 'which call'),
});

export const hostSpawn = message('host_spawn', 'runs a program, with no descriptors but its own three', {
  argv: repeated(name(1, limits.argumentMax, 'program and arguments; an absolute path'), limits.argumentsMax),
  env: repeated(name(2, limits.argumentMax, 'NAME=value; nothing is inherited', 2), limits.argumentsMax),
  cwd: optional(path(3, 'working directory')),
  stdin: optional(bytes(4, 64 * 1024, 'what it reads; nothing when absent')),
  stdoutPath: optional(path(5, 'file for stdout, appended; otherwise it is kept for the answer')),
  stderrPath: optional(path(6, 'the same of stderr')),
  timeoutMs: optional(uint(7, 2 ** 40, 'then KILL to its group', 1)),
  wait: bool(8, 'answer when it has ended; otherwise when it runs'),
});

export const hostSpawned = message('host_spawned', 'result of spawn', {
  pid: uint(1, 2 ** 31, 'its pid', 1),
  code: optional(uint(2, 255, 'exit code, when it exited')),
  signal: optional(uint(3, 64, 'signal, when one ended it', 1)),
  timedOut: bool(4, 'the timeout killed it'),
  stdout: bytes(5, hostOutputMax, 'the first of what it wrote'),
  stderr: bytes(6, hostOutputMax, 'the same of stderr'),
});

export const hostCancel = message('host_cancel', 'kills the group of a program that a request waits for', {
  id: uint(1, 2 ** 32 - 1, 'the request'),
});

export const hostMount = message('host_mount', 'mount(2)', {
  source: name(1, limits.pathMax, 'device, path or name'),
  target: path(2, 'where'),
  type: text(3, 64, 'file system'),
  flags: uint(4, 2 ** 32 - 1, 'as mount(2) has them'),
  data: name(5, 32 * 1024, 'options of the file system'),
});

export const hostUnmount = message('host_unmount', 'umount2(2)', {
  target: path(1, 'where'),
  detach: bool(2, 'also while it is in use'),
  later: bool(3, 'with detach: what the kernel has to tidy up is done after the answer'),
});

export const hostMountIdmapped = message('host_mount_idmapped', 'the tree at source, with its ids shifted, at target', {
  source: path(1, 'which tree'),
  target: path(2, 'where'),
  firstId: uint(3, 2 ** 32 - 2, 'id that 0 of the tree appears as'),
  count: uint(4, 2 ** 32 - 2, 'ids from there on', 1),
  readOnly: bool(5, 'the mount cannot be written'),
});

export const hostMountDisk = message('host_mount_disk', 'a filesystem in a file', {
  file: path(1, 'which'),
  target: path(2, 'where'),
  type: text(3, 64, 'file system'),
  data: optional(text(4, 256, 'options of the file system')),
});

/** Most folders that one mount joins; the kernel takes a page of options. */
const joinedMax = 128;

export const hostMountOverlay = message('host_mount_overlay', 'layers, changes and folders of the host as one tree', {
  layers: repeated(path(1, 'lowest first'), joinedMax),
  changes: optional(path(2, 'a folder with `upper` and `work`; without it the tree cannot be written')),
  target: path(3, 'where'),
  firstId: optional(uint(4, 2 ** 32 - 2, 'id that 0 of the trees appears as; they appear as they are when absent')),
  count: optional(uint(5, 2 ** 32 - 2, 'ids from there on; 65,536 when absent', 1)),
  bindSources: repeated(path(6, 'folders and files of the host to show, read-only'), joinedMax),
  bindTargets: repeated(path(7, 'where each is shown; absolute within the tree, and there already'), joinedMax),
  isVolatile: optional(bool(8, 'what is written need not reach the disk; such changes can be joined only once')),
});

export const hostPath = message('host_path', 'an operation on one path', { path: path(1, 'which') });

export const hostSnapshot = message('host_snapshot', 'a btrfs snapshot', {
  source: path(1, 'subvolume'),
  target: path(2, 'the new one'),
  readOnly: bool(3, 'it cannot be written'),
});

export const hostQuotaLimit = message('host_quota_limit', 'the most bytes of a btrfs subvolume', {
  path: path(1, 'subvolume'),
  bytes: optional(uint(2, big, 'none when absent')),
});

export const hostUsage = message('host_usage', 'what a btrfs subvolume uses, by its quota group', {
  bytes: uint(1, big, 'used'),
  limit: optional(uint(2, big, 'the most it may use')),
});

export interface HostOperation {
  readonly number: number;
  readonly params: MessageDef;
  readonly result: MessageDef;
}

export const hostOperations = {
  spawn: { number: 1, params: hostSpawn, result: hostSpawned },
  cancel: { number: 2, params: hostCancel, result: hostDone },
  ping: { number: 3, params: hostDone, result: hostDone },
  mount: { number: 4, params: hostMount, result: hostDone },
  unmount: { number: 5, params: hostUnmount, result: hostDone },
  mountIdmapped: { number: 6, params: hostMountIdmapped, result: hostDone },
  sync: { number: 7, params: hostPath, result: hostDone },
  subvolumeCreate: { number: 8, params: hostPath, result: hostDone },
  subvolumeDelete: { number: 9, params: hostPath, result: hostDone },
  snapshot: { number: 10, params: hostSnapshot, result: hostDone },
  quotaEnable: { number: 11, params: hostPath, result: hostDone },
  quotaLimit: { number: 12, params: hostQuotaLimit, result: hostDone },
  usage: { number: 13, params: hostPath, result: hostUsage },
  mountOverlay: { number: 14, params: hostMountOverlay, result: hostDone },
  mountDisk: { number: 15, params: hostMountDisk, result: hostDone },
} as const satisfies Record<string, HostOperation>;

export type HostOperationName = keyof typeof hostOperations;
