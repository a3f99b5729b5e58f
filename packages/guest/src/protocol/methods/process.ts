import { bool, choice, message, name, nested, optional, repeated, text, uint } from '../field.ts';
import { limits } from '../limits.ts';
import { method } from './method.ts';

/**
 * Processes outlive channels and connections. A process has an id that the caller chose; its output is a stream of
 * bytes addressed by offset; its exit status stays until it is forgotten.
 */
const offset = (tag: number, about: string) => uint(tag, Number.MAX_SAFE_INTEGER, about);
const time = (tag: number, about: string) => uint(tag, Number.MAX_SAFE_INTEGER, `${about}, milliseconds since 1970`);
const id = (tag = 1) => text(tag, 32, 'process id, `prc` and 20 of a-z0-9', 1);

export const streams = { stdout: 1, stderr: 2 } as const;
export const whyExited = { exited: 1, signalled: 2, timed_out: 3, out_of_memory: 4, killed_with_sandbox: 5 } as const;

export const ptySize = message('pty_size', 'size of a terminal', {
  rows: uint(1, 65535, 'lines', 1),
  columns: uint(2, 65535, 'characters in a line', 1),
});

export const exitStatus = message('exit_status', 'how a process ended', {
  why: choice(1, whyExited, 'the cause, not only what wait(2) says'),
  code: optional(uint(2, 255, 'exit code, when it exited')),
  signal: optional(uint(3, 64, 'signal, when one ended it', 1)),
  endedAt: time(4, 'when'),
  stdoutBytes: offset(5, 'bytes read from stdout when the guest had drained it at the exit'),
  stderrBytes: offset(6, 'the same of stderr'),
  cpuMilliseconds: uint(7, Number.MAX_SAFE_INTEGER, 'user and system time'),
  maxRssKiB: uint(8, Number.MAX_SAFE_INTEGER, 'largest resident size'),
});

export const processInfo = message('process_info', 'one process', {
  id: id(),
  pid: uint(2, 2 ** 31, 'pid inside the sandbox', 1),
  command: name(3, 1024, 'arguments joined by spaces, cut to the bound'),
  user: text(4, 32, 'whose it is'),
  tags: repeated(text(5, 64, 'given at spawn'), 16),
  pty: bool(6, 'has a terminal'),
  startedAt: time(7, 'when'),
  stdoutBytes: offset(8, 'bytes read from stdout so far'),
  stderrBytes: offset(9, 'the same of stderr'),
  stdinBytes: offset(10, 'bytes written to stdin so far'),
  exit: optional(nested(11, exitStatus, 256, 'absent while it runs')),
  signalSequence: offset(12, 'sequence of the last signal delivered, 0 when there was none'),
});

export const processMethods = {
  'process.spawn': method({
    number: 0x0101,
    about: 'starts a process, or answers the one that has this id already',
    params: message('process_spawn', 'parameters of process.spawn', {
      id: id(),
      argv: repeated(name(2, limits.argumentMax, 'program and arguments; at least one'), limits.argumentsMax),
      env: repeated(name(3, limits.argumentMax, 'NAME=value', 2), limits.argumentsMax),
      inheritEnv: bool(
        4,
        'begin with what the sandbox was launched with, then PATH, HOME, USER, SHELL and TERM of the user; env wins',
      ),
      cwd: optional(
        name(5, limits.pathMax, 'working directory; when absent that of the sandbox, or the home of the user', 1),
      ),
      user: optional(text(6, 32, 'name or number; `user` when absent', 1)),
      pty: optional(nested(7, ptySize, 64, 'gives it a terminal, which is stdin and stdout; stderr is empty')),
      stdin: bool(8, 'has a stdin to write to; otherwise /dev/null'),
      tags: repeated(text(9, 64, 'for finding it again'), 16),
      timeoutMs: optional(uint(10, 2 ** 40, 'after this TERM, then the grace, then KILL', 1)),
      graceMs: optional(uint(11, 600_000, 'between TERM and KILL; 5,000 when absent')),
      ringBytes: optional(uint(12, limits.ringMax, 'ring of each output stream', limits.ringMin)),
      whenDetached: choice(
        13,
        { wait: 1, drop: 2 },
        'a full ring and nobody attached: the process waits, or the oldest goes',
      ),
    }),
    result: message('process_spawned', 'result of process.spawn', {
      pid: uint(1, 2 ** 31, 'pid inside the sandbox', 1),
      startedAt: time(2, 'when'),
      existed: bool(3, 'the id was known; nothing was started'),
    }),
    repeat: 'named',
    afterLoss: 'repeat with the same id',
  }),
  'process.attach': method({
    number: 0x0102,
    about: 'one output stream from an offset on; ends when every writer closed it. One attachment for each stream',
    params: message('process_attach', 'parameters of process.attach', {
      id: id(),
      stream: choice(2, streams, 'which'),
      from: offset(3, 'first byte wanted; not above what has been read'),
    }),
    result: message('process_attached', 'result of process.attach', {
      at: offset(1, 'offset of the first byte that follows'),
      lost: offset(2, 'at - from: bytes that the ring no longer holds'),
    }),
    output: 'bytes',
    answer: 'first',
    repeat: 'named',
    afterLoss: 'attach again from the first byte not consumed',
  }),
  'process.stdin': method({
    number: 0x0103,
    about: 'writes to stdin; end closes it, reset leaves it open. Credit is given for what the pipe took',
    params: message('process_stdin', 'parameters of process.stdin', {
      id: id(),
      offset: optional(offset(2, 'offset of the first byte sent; where the guest is when absent; not above that')),
    }),
    input: true,
    result: message('process_stdin_done', 'result of process.stdin', {
      written: offset(1, 'offset after the last byte the pipe took'),
      closed: bool(2, 'the process closed its end first'),
    }),
    repeat: 'named',
    afterLoss: 'open again at the first byte without credit; the guest drops what it has already written',
  }),
  'process.signal': method({
    number: 0x0104,
    about: 'sends a signal to the process group, or the process alone',
    params: message('process_signal', 'parameters of process.signal', {
      id: id(),
      signal: uint(2, 64, 'number as Linux has it', 1),
      target: choice(3, { group: 1, process: 2 }, 'to whom'),
      sequence: uint(
        4,
        Number.MAX_SAFE_INTEGER,
        'rises with each signal to this process; not above the last: ignored',
        1,
      ),
    }),
    repeat: 'named',
    afterLoss: 'repeat with the same sequence',
  }),
  'process.resize': method({
    number: 0x0105,
    about: 'changes the size of the terminal',
    params: message('process_resize', 'parameters of process.resize', {
      id: id(),
      size: nested(2, ptySize, 64, 'the new size'),
    }),
    repeat: 'idempotent',
    afterLoss: 'repeat, if no newer size is wanted',
  }),
  'process.wait': method({
    number: 0x0106,
    about: 'answers when the process has ended; at once if it has',
    params: message('process_wait', 'parameters of process.wait', { id: id() }),
    result: exitStatus,
    repeat: 'pure',
    afterLoss: 'repeat',
  }),
  'process.list': method({
    number: 0x0107,
    about: 'running and not yet forgotten processes, oldest first',
    params: message('process_list', 'parameters of process.list', {
      id: optional(text(1, 32, 'only this one', 1)),
      tag: optional(text(2, 64, 'only those with this tag', 1)),
    }),
    output: 'records',
    answer: 'last',
    record: message('process_batch', 'record of process.list', {
      processes: repeated(nested(1, processInfo, 4096, 'some of them'), 256),
    }),
    repeat: 'pure',
    afterLoss: 'repeat',
  }),
  'process.forget': method({
    number: 0x0108,
    about: 'frees the status and the rings of an ended process; unknown: done already; running or attached: busy',
    params: message('process_forget', 'parameters of process.forget', { id: id() }),
    repeat: 'idempotent',
    afterLoss: 'repeat',
  }),
} as const;
