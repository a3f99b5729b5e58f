import { type ChildProcess, spawn as spawnChild } from 'node:child_process';
import { getSystemErrorName } from 'node:util';
import { CaissonError } from '@caisson/contract';
import { fromAbort } from '../client/translate-error.ts';
import { decodeMessage } from '../protocol/decode-message.ts';
import { encodeMessage } from '../protocol/encode-message.ts';
import type { Value } from '../protocol/field.ts';
import { ProtocolError } from '../protocol/protocol-error.ts';
import { type HostOperationName, hostFailed, hostOperations, hostOutputMax, hostTasksMax } from './host-messages.ts';
import { Slots } from './slots.ts';

type HostParams<O extends HostOperationName> = Value<(typeof hostOperations)[O]['params']>;
type HostResult<O extends HostOperationName> = Value<(typeof hostOperations)[O]['result']>;

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  readonly stdin?: Uint8Array | undefined;
  readonly stdoutPath?: string | undefined;
  readonly stderrPath?: string | undefined;
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export type RunResult = HostResult<'spawn'>;

interface Pending {
  readonly operation: HostOperationName;
  readonly resolve: (payload: Buffer) => void;
  readonly reject: (error: Error) => void;
}

/** One life of the program, with what was asked of it: the end of one is no answer to what was asked of the next. */
interface Running {
  readonly child: ChildProcess;
  readonly pending: Map<number, Pending>;
  received: Buffer;
}

const EDQUOT = 122;
const headerBytes = 12;
/** The largest answer: two streams of output and their fields. */
const answerMax = 2 * hostOutputMax + 1024;

/**
 * The server's hands: starts `caisson-guest host` once and asks it for what Node cannot do, or does slowly because it
 * would fork its large heap. One answer for each request, in any order.
 */
export class HostClient {
  /** The native program, which has other modes too. */
  readonly program: string;
  readonly #args: readonly string[];
  #running: Running | undefined;
  #nextId = 1;
  readonly #slots = new Slots(hostTasksMax);

  /**
   * With a lock, the program begins only when an earlier one with the same lock has ended, and with it what it was doing
   * for a server that was killed.
   */
  constructor(program: string, options: { readonly lock?: string } = {}) {
    this.program = program;
    this.#args = ['host', ...(options.lock === undefined ? [] : ['--lock', options.lock])];
  }

  /** Runs a program to its end. Its environment is what is given, and nothing else. */
  async run(argv: readonly string[], options: RunOptions = {}): Promise<RunResult> {
    return await this.#request('spawn', { ...spawnParams(argv, options), wait: true }, options.signal);
  }

  /** Starts a program and gives its pid; it is reaped, and nobody hears of its end. */
  async start(argv: readonly string[], options: RunOptions = {}): Promise<number> {
    return (await this.#request('spawn', { ...spawnParams(argv, options), wait: false }, options.signal)).pid;
  }

  async ping(): Promise<void> {
    await this.#request('ping', {});
  }

  async mount(mount: HostParams<'mount'>): Promise<void> {
    await this.#request('mount', mount);
  }

  async unmount(target: string, options: { readonly detach?: boolean; readonly later?: boolean } = {}): Promise<void> {
    await this.#request('unmount', { target, detach: options.detach ?? false, later: options.later ?? false });
  }

  /** The tree at `source` appears at `target` with its ids shifted: 0 as `firstId`, and so on for `count` of them. */
  async mountIdmapped(mount: HostParams<'mountIdmapped'>): Promise<void> {
    await this.#request('mountIdmapped', mount);
  }

  /** Layers, the changes above them and folders of the host as one tree, mounted at `target` in one step. */
  async mountOverlay(mount: HostParams<'mountOverlay'>): Promise<void> {
    await this.#request('mountOverlay', mount);
  }

  /** The filesystem in a file, on a loop device that goes with the last mount of it. */
  async mountDisk(mount: HostParams<'mountDisk'>): Promise<void> {
    await this.#request('mountDisk', mount);
  }

  async sync(path: string): Promise<void> {
    await this.#request('sync', { path });
  }

  async createSubvolume(path: string): Promise<void> {
    await this.#request('subvolumeCreate', { path });
  }

  async deleteSubvolume(path: string): Promise<void> {
    await this.#request('subvolumeDelete', { path });
  }

  async snapshot(source: string, target: string, options: { readonly readOnly?: boolean } = {}): Promise<void> {
    await this.#request('snapshot', { source, target, readOnly: options.readOnly ?? false });
  }

  /** Simple quotas, for the whole file system. Once; a second time does nothing. */
  async enableQuota(path: string): Promise<void> {
    await this.#request('quotaEnable', { path });
  }

  async limitQuota(path: string, bytes: number | undefined): Promise<void> {
    await this.#request('quotaLimit', { path, ...(bytes === undefined ? {} : { bytes }) });
  }

  async usage(path: string): Promise<HostResult<'usage'>> {
    return await this.#request('usage', { path });
  }

  /** Ends the program once what it runs has ended. */
  async close(): Promise<void> {
    const child = this.#running?.child;
    this.#running = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.stdin?.end();
    await ended;
  }

  async #request<O extends HostOperationName>(
    operation: O,
    params: HostParams<O>,
    signal?: AbortSignal,
  ): Promise<HostResult<O>> {
    // Programs may run for long, and are not among what the host program counts.
    if (operation === 'spawn' || operation === 'ping') return this.#ask(operation, params, signal);
    return this.#slots.with(() => this.#ask(operation, params, signal));
  }

  async #ask<O extends HostOperationName>(
    operation: O,
    params: HostParams<O>,
    signal?: AbortSignal,
  ): Promise<HostResult<O>> {
    if (signal?.aborted === true) throw fromAbort(signal);
    const { number, params: definition, result } = hostOperations[operation];
    const body = encodeBody(operation, () => encodeMessage(definition, params as never));
    const id = this.#nextId;
    this.#nextId = id === 0xffff_ffff ? 1 : id + 1;
    const running = this.#start();
    const answer = new Promise<Buffer>((resolve, reject) => running.pending.set(id, { operation, resolve, reject }));
    send(running, id, number, body);
    const stop = () =>
      send(running, 0, hostOperations.cancel.number, encodeMessage(hostOperations.cancel.params, { id }));
    signal?.addEventListener('abort', stop, { once: true });
    try {
      const payload = await answer;
      signal?.throwIfAborted();
      return decodeMessage(result, payload) as HostResult<O>;
    } catch (error) {
      throw signal !== undefined && error === signal.reason ? fromAbort(signal) : error;
    } finally {
      signal?.removeEventListener('abort', stop);
    }
  }

  #start(): Running {
    if (this.#running !== undefined) return this.#running;
    const child = spawnChild(this.program, this.#args, { stdio: ['pipe', 'pipe', 'inherit'], env: {} });
    const running: Running = { child, pending: new Map(), received: Buffer.alloc(0) };
    this.#running = running;
    child.stdout?.on('data', (chunk: Buffer) => onChunk(running, chunk));
    child.stdin?.on('error', () => {});
    child.on('error', (error) => this.#onGone(running, error));
    // Not at its exit: what it said last may still be in the pipe then.
    child.on('close', () => this.#onGone(running, undefined));
    child.on('exit', () => {
      if (this.#running === running) this.#running = undefined;
    });
    return running;
  }

  /** The next request starts it anew; what was asked of this one is not known to have happened. */
  #onGone(running: Running, cause: Error | undefined): void {
    if (this.#running === running) this.#running = undefined;
    const error = new CaissonError('driver_failed', 'the host program ended', { cause });
    for (const { reject } of running.pending.values()) reject(error);
    running.pending.clear();
  }
}

function send({ child }: Running, id: number, operation: number, body: Buffer): void {
  const header = Buffer.alloc(headerBytes);
  header.writeUInt32LE(body.length, 0);
  header.writeUInt32LE(id, 4);
  header.writeUInt16LE(operation, 8);
  child.stdin?.cork();
  child.stdin?.write(header);
  child.stdin?.write(body);
  child.stdin?.uncork();
}

function onChunk(running: Running, chunk: Buffer): void {
  running.received = running.received.length === 0 ? chunk : Buffer.concat([running.received, chunk]);
  while (running.received.length >= headerBytes) {
    const { received } = running;
    const length = received.readUInt32LE(0);
    if (length > answerMax) {
      running.child.kill('SIGKILL');
      return;
    }
    if (received.length < headerBytes + length) return;
    const payload = received.subarray(headerBytes, headerBytes + length);
    onAnswer(running, received.readUInt32LE(4), received.readUInt16LE(8), payload);
    running.received = received.subarray(headerBytes + length);
  }
}

function onAnswer({ pending: waiting }: Running, id: number, status: number, payload: Buffer): void {
  const pending = waiting.get(id);
  if (pending === undefined) return;
  waiting.delete(id);
  if (status === 0) pending.resolve(payload);
  else pending.reject(failure(pending.operation, payload));
}

function spawnParams(argv: readonly string[], options: RunOptions): Omit<HostParams<'spawn'>, 'wait'> {
  const { env = {}, cwd, stdin, stdoutPath, stderrPath, timeoutMs } = options;
  return {
    argv,
    env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    ...(cwd === undefined ? {} : { cwd }),
    ...(stdin === undefined ? {} : { stdin }),
    ...(stdoutPath === undefined ? {} : { stdoutPath }),
    ...(stderrPath === undefined ? {} : { stderrPath }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  };
}

function encodeBody(operation: string, encode: () => Buffer): Buffer {
  try {
    return encode();
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    throw new CaissonError('request_invalid', error.message, { cause: error, context: { operation } });
  }
}

const storageOperations: readonly HostOperationName[] = [
  'subvolumeCreate',
  'subvolumeDelete',
  'snapshot',
  'quotaEnable',
  'quotaLimit',
  'usage',
  'sync',
  'mountOverlay',
  'mountDisk',
];

function failure(operation: HostOperationName, payload: Buffer): CaissonError {
  const { errno, step } = decodeMessage(hostFailed, payload);
  // Node has no name for EDQUOT.
  const name = errno === EDQUOT ? 'EDQUOT' : errno > 0 ? getSystemErrorName(-errno) : 'unknown';
  const full = name === 'ENOSPC' || name === 'EDQUOT';
  const code = full ? 'storage_full' : storageOperations.includes(operation) ? 'storage_failed' : 'driver_failed';
  return new CaissonError(code, `${operation}: ${step}: ${name}`, {
    context: { operation, step, errno, errorName: name },
  });
}
