import { bool, choice, message, name, nested, optional, repeated, text, uint } from '../field.ts';
import { limits } from '../limits.ts';
import { entry, path, size, user } from './file.ts';
import { method } from './method.ts';

/** Methods that walk a tree. None follows a symbolic link out of where it was told to look, and each has a bound. */
const count = (tag: number, about: string) => uint(tag, 10_000_000, about);
const most = (tag: number, about: string) => uint(tag, 1_000_000, about, 1);
const patterns = (tag: number, about: string) => repeated(text(tag, 1024, about, 1), 256);
const nodeBatch = message('entry_batch', 'record of file.list and file.glob', {
  entries: repeated(nested(1, entry, 9216, 'some of them'), 1024),
});
const cut = message('cut', 'result of file.list and file.glob', {
  count: count(1, 'entries sent'),
  truncated: bool(2, 'there are more than maxEntries'),
});
const archived = message('archived', 'result of file.tar_out and file.tar_in', {
  entries: count(1, 'members'),
  bytes: size(2, 'bytes of the archive'),
});

export const watchKinds = { create: 1, write: 2, remove: 3, rename: 4, chmod: 5 } as const;

export const watchEvent = message('watch_event', 'one change', {
  kind: choice(1, watchKinds, 'what happened'),
  path: name(2, limits.pathMax, 'relative to the watched directory'),
  renamedTo: optional(name(3, limits.pathMax, 'of a rename within it')),
  directory: bool(4, 'the node is a directory'),
});

export const grepMatch = message('grep_match', 'one line that matches', {
  path: name(1, limits.pathMax, 'relative to the root of the search'),
  line: uint(2, Number.MAX_SAFE_INTEGER, 'number of the line, from 1', 1),
  text: name(3, 4096, 'the line without its newline, cut to the bound; bytes as they are'),
  start: uint(4, Number.MAX_SAFE_INTEGER, 'byte in the line at which the match begins'),
  end: uint(5, Number.MAX_SAFE_INTEGER, 'byte after it'),
  before: repeated(name(6, 1024, 'lines before, oldest first'), 16),
  after: repeated(name(7, 1024, 'lines after'), 16),
});

export const treeMethods = {
  'file.list': method({
    number: 0x0202,
    about: 'entries of a directory, parents before children',
    params: message('file_list', 'parameters of file.list', {
      path: path(1),
      user: user(2),
      depth: uint(3, 64, '1: the directory alone', 1),
      maxEntries: most(4, 'stop after these'),
    }),
    output: 'records',
    answer: 'last',
    record: nodeBatch,
    result: cut,
    repeat: 'pure',
    afterLoss: 'repeat',
  }),
  'file.glob': method({
    number: 0x0211,
    about: 'entries whose relative path matches; `**` crosses directories',
    params: message('file_glob', 'parameters of file.glob', {
      path: path(1, 'root of the search'),
      user: user(2),
      pattern: text(3, 1024, 'with * ? [] {} and **', 1),
      ignoreFiles: bool(4, 'obey .gitignore and .ignore'),
      hidden: bool(5, 'also names that begin with a dot'),
      maxEntries: most(6, 'stop after these'),
    }),
    output: 'records',
    answer: 'last',
    record: nodeBatch,
    result: cut,
    repeat: 'pure',
    afterLoss: 'repeat',
  }),
  'file.grep': method({
    number: 0x0212,
    about: 'lines that match, file by file in order of path; files with NUL in their first 8 KiB are skipped',
    params: message('file_grep', 'parameters of file.grep', {
      path: path(1, 'file, or root of the search'),
      user: user(2),
      pattern: text(3, 4096, 'what to look for', 1),
      syntax: choice(4, { literal: 1, extended: 2 }, 'plain text, or a POSIX extended regular expression'),
      ignoreCase: bool(5, 'ASCII letters match either case'),
      include: patterns(6, 'only files whose path matches one of these globs'),
      exclude: patterns(7, 'not files or directories whose path matches one of these'),
      ignoreFiles: bool(8, 'obey .gitignore and .ignore'),
      hidden: bool(9, 'also names that begin with a dot'),
      contextLines: uint(10, 16, 'lines before and after each match'),
      maxMatches: most(11, 'stop after these'),
      maxMatchesPerFile: optional(most(12, 'go on to the next file after these')),
      maxFileBytes: size(13, 'skip larger files'),
    }),
    output: 'records',
    answer: 'last',
    record: message('grep_batch', 'record of file.grep', {
      matches: repeated(nested(1, grepMatch, 49152, 'some of them'), 1024),
    }),
    result: message('grep_done', 'result of file.grep', {
      matches: count(1, 'matches sent'),
      filesSearched: count(2, 'files read'),
      filesSkipped: count(3, 'binary, too large or unreadable'),
      truncated: bool(4, 'there may be more than maxMatches'),
    }),
    repeat: 'pure',
    afterLoss: 'repeat',
  }),
  'file.watch': method({
    number: 0x0213,
    about: 'changes below a directory until the opener resets; the result says that the watch is in place',
    params: message('file_watch', 'parameters of file.watch', {
      path: path(1, 'directory'),
      user: user(2),
      recursive: bool(3, 'also directories below it, and new ones'),
    }),
    output: 'records',
    answer: 'first',
    record: message('watch_batch', 'record of file.watch', {
      events: repeated(nested(1, watchEvent, 9216, 'in order'), 1024),
      overflow: bool(2, 'changes were lost before these events: scan again'),
    }),
    repeat: 'connection',
    afterLoss: 'open again and scan, as after an overflow',
  }),
  'file.tar_out': method({
    number: 0x0214,
    about: 'a tree as a POSIX (pax) archive, in order of path',
    params: message('file_tar_out', 'parameters of file.tar_out', {
      path: path(1, 'directory or file'),
      user: user(2),
      exclude: patterns(3, 'globs of relative paths to leave out'),
    }),
    output: 'bytes',
    answer: 'last',
    result: archived,
    repeat: 'pure',
    afterLoss: 'repeat from the beginning',
  }),
  'file.tar_in': method({
    number: 0x0215,
    about:
      'unpacks an archive below a directory; each member is atomic, the whole is not. No member leaves the directory',
    params: message('file_tar_in', 'parameters of file.tar_in', {
      path: path(1, 'directory, made when missing'),
      user: user(2),
      keepOwner: bool(3, 'give members the owner in the archive; needs root'),
    }),
    input: true,
    result: archived,
    repeat: 'idempotent',
    afterLoss: 'repeat from the beginning: members replace what they find',
  }),
} as const;
