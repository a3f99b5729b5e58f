import { bool, bytes, choice, int, message, name, nested, optional, repeated, text, uint } from '../field.ts';
import { limits } from '../limits.ts';
import { method } from './method.ts';

/**
 * Files are reached inside the sandbox's own mount namespace, with the permission of `user`. A path that does not begin
 * with a slash begins at the home of that user.
 */
export const path = (tag: number, about = 'which') => name(tag, limits.pathMax, about, 1);
export const user = (tag: number) => optional(text(tag, 32, 'whose permission; `user` when absent', 1));
export const size = (tag: number, about: string) => uint(tag, Number.MAX_SAFE_INTEGER, about);
const mode = (tag: number, about: string) => uint(tag, 0o7777, about);
const owner = (tag: number, about: string) => uint(tag, 2 ** 32 - 2, about);
const attribute = (tag: number) => name(tag, limits.fileNameMax, 'name of the attribute with its namespace', 1);

export const fileKinds = {
  file: 1,
  directory: 2,
  symlink: 3,
  fifo: 4,
  socket: 5,
  character_device: 6,
  block_device: 7,
} as const;

export const entry = message('entry', 'one file, directory or other node', {
  path: name(1, limits.pathMax, 'as asked for; in lists relative to the root of the list'),
  kind: choice(2, fileKinds, 'what it is'),
  size: size(3, 'bytes'),
  mode: mode(4, 'permission bits with setuid, setgid and sticky'),
  uid: owner(5, 'owner'),
  gid: owner(6, 'group'),
  owner: optional(text(7, 32, 'name of the owner, when passwd has one')),
  group: optional(text(8, 32, 'name of the group')),
  mtimeSeconds: int(9, -(2 ** 40), 2 ** 40, 'last change since 1970; nanoseconds in one number would not be exact'),
  mtimeNanoseconds: uint(10, 999_999_999, 'the rest'),
  target: optional(name(11, limits.pathMax, 'of a symbolic link')),
});

const entryResult = message('entry_result', 'result with one entry', { entry: nested(1, entry, 9216, 'as it is now') });

export const fileMethods = {
  'file.stat': method({
    number: 0x0201,
    about: 'describes one node',
    params: message('file_stat', 'parameters of file.stat', {
      path: path(1),
      user: user(2),
      follow: bool(3, 'describe what a symbolic link leads to'),
    }),
    result: entryResult,
    repeat: 'pure',
    afterLoss: 'repeat',
  }),
  'file.read': method({
    number: 0x0203,
    about: 'a range of a file; ends early where the file does',
    params: message('file_read', 'parameters of file.read', {
      path: path(1),
      user: user(2),
      offset: size(3, 'first byte'),
      length: optional(size(4, 'most bytes; to the end when absent')),
    }),
    result: entryResult,
    output: 'bytes',
    answer: 'first',
    repeat: 'pure',
    afterLoss: 'repeat from the first byte not consumed; compare the entry to see whether the file changed',
  }),
  'file.write': method({
    number: 0x0204,
    about: 'replaces a file atomically at end, or writes a range in place; reset and loss discard a replacement',
    params: message('file_write', 'parameters of file.write', {
      path: path(1),
      user: user(2),
      how: choice(
        3,
        { replace: 1, create: 2, range: 3 },
        'replace or create: a temporary beside it, renamed at end (create fails when it is there). range: in place',
      ),
      offset: optional(size(4, 'of a range; 0 when absent')),
      mode: optional(mode(5, 'of the new file; that of the old one, or 0644, when absent')),
      uid: optional(owner(6, 'owner of the new file')),
      gid: optional(owner(7, 'group of the new file')),
      parents: bool(8, 'make missing directories, owned by the user'),
      sync: bool(9, 'fsync before the rename'),
    }),
    input: true,
    result: entryResult,
    repeat: 'idempotent',
    afterLoss:
      'replace, range: repeat from the beginning. create: repeat; already_exists may be your own doing, so stat',
  }),
  'file.mkdir': method({
    number: 0x0205,
    about: 'makes a directory',
    params: message('file_mkdir', 'parameters of file.mkdir', {
      path: path(1),
      user: user(2),
      parents: bool(3, 'make missing parents, and accept a directory that is there'),
      mode: optional(mode(4, '0755 when absent')),
    }),
    result: message('file_made', 'result of file.mkdir', { created: bool(1, 'it was not there') }),
    repeat: 'atomic',
    afterLoss: 'repeat; already_exists may be your own doing',
  }),
  'file.move': method({
    number: 0x0206,
    about: 'renames, atomically',
    params: message('file_move', 'parameters of file.move', {
      from: path(1, 'what'),
      to: path(2, 'its new path'),
      user: user(3),
      replace: bool(4, 'may replace what is there'),
    }),
    result: entryResult,
    repeat: 'atomic',
    afterLoss: 'stat both paths: it moved wholly or not at all',
  }),
  'file.remove': method({
    number: 0x0207,
    about: 'removes a node, or a tree',
    params: message('file_remove', 'parameters of file.remove', {
      path: path(1),
      user: user(2),
      recursive: bool(3, 'with everything below it; links are removed, never followed'),
      missingOk: bool(4, 'answer also when it is not there'),
    }),
    repeat: 'idempotent',
    afterLoss: 'repeat with missingOk',
  }),
  'file.symlink': method({
    number: 0x0208,
    about: 'makes a symbolic link',
    params: message('file_symlink', 'parameters of file.symlink', {
      path: path(1, 'the link'),
      target: path(2, 'what it says, unchecked'),
      user: user(3),
      replace: bool(4, 'replace a node that is there, atomically'),
    }),
    repeat: 'atomic',
    afterLoss: 'repeat; already_exists may be your own doing, so compare the target',
  }),
  'file.chmod': method({
    number: 0x0209,
    about: 'changes permission bits',
    params: message('file_chmod', 'parameters of file.chmod', {
      path: path(1),
      user: user(2),
      mode: mode(3, 'the new bits'),
      recursive: bool(4, 'also everything below; symbolic links are left alone'),
    }),
    repeat: 'idempotent',
    afterLoss: 'repeat',
  }),
  'file.chown': method({
    number: 0x020a,
    about: 'changes owner or group',
    params: message('file_chown', 'parameters of file.chown', {
      path: path(1),
      user: user(2),
      uid: optional(owner(3, 'the new owner')),
      gid: optional(owner(4, 'the new group')),
      recursive: bool(5, 'also everything below; symbolic links themselves'),
    }),
    repeat: 'idempotent',
    afterLoss: 'repeat',
  }),
  'file.xattr_get': method({
    number: 0x020b,
    about: 'one extended attribute',
    params: message('file_xattr_get', 'parameters of file.xattr_get', {
      path: path(1),
      user: user(2),
      name: attribute(3),
    }),
    result: message('file_xattr', 'result of file.xattr_get', { value: bytes(1, 65536, 'its value') }),
    repeat: 'pure',
    afterLoss: 'repeat',
  }),
  'file.xattr_set': method({
    number: 0x020c,
    about: 'sets one extended attribute',
    params: message('file_xattr_set', 'parameters of file.xattr_set', {
      path: path(1),
      user: user(2),
      name: attribute(3),
      value: bytes(4, 65536, 'its value'),
    }),
    repeat: 'idempotent',
    afterLoss: 'repeat',
  }),
  'file.xattr_list': method({
    number: 0x020d,
    about: 'names of the extended attributes; more than fit is too_large',
    params: message('file_xattr_list', 'parameters of file.xattr_list', { path: path(1), user: user(2) }),
    result: message('file_xattrs', 'result of file.xattr_list', { names: repeated(attribute(1), 1024) }),
    repeat: 'pure',
    afterLoss: 'repeat',
  }),
  'file.xattr_remove': method({
    number: 0x020e,
    about: 'removes one extended attribute; absent: not_found',
    params: message('file_xattr_remove', 'parameters of file.xattr_remove', {
      path: path(1),
      user: user(2),
      name: attribute(3),
    }),
    repeat: 'idempotent',
    afterLoss: 'repeat; not_found counts as done',
  }),
} as const;
