import {
  type AttemptSummary,
  type CaissonEvent,
  type ExecRequest,
  type ExecResult,
  isTransient,
  type Sandbox,
  type SandboxRoute,
  type SandboxStats,
  type Snapshot,
} from '@caisson/contract';
import type { CallInput, CallOptions } from './call.ts';
import type { Connection } from './connection.ts';
import { Egress } from './egress.ts';
import type { EventOptions } from './events.ts';
import { type ExecOptions, exec, type RunOptions, type RunResult, run } from './exec.ts';
import { Files } from './files.ts';
import { Network } from './network.ts';
import { Ports } from './ports.ts';
import { Processes } from './processes.ts';
import type { ForkRequest, RollbackOptions, Sandboxes } from './sandboxes.ts';
import { Tools } from './tools.ts';

export type SnapshotRequest = NonNullable<CallInput<'snapshot.create'>['body']>;
export type TurnRequest = NonNullable<CallInput<'snapshot.turn'>['body']>;

export interface ActOptions extends CallOptions {
  /** How long to wait for the end of the action; then the answer is the state on the way. */
  readonly waitSeconds?: number | undefined;
}

export interface PauseOptions extends ActOptions {
  /** How long running tools may take to end; 10 when absent. */
  readonly drainSeconds?: number | undefined;
}

/** One sandbox: its record as it was last seen, and what can be done with it. Every method brings the record up to date. */
export class SandboxHandle {
  readonly processes: Processes;
  readonly files: Files;
  readonly tools: Tools;
  readonly network: Network;
  readonly egress: Egress;
  readonly ports: Ports;
  #record: Sandbox;
  readonly #sandboxes: Sandboxes;
  readonly #connection: Connection;

  constructor(record: Sandbox, sandboxes: Sandboxes, connection: Connection) {
    this.#record = record;
    this.#sandboxes = sandboxes;
    this.#connection = connection;
    this.processes = new Processes(connection, record.id);
    this.files = new Files(connection, record.id);
    this.tools = new Tools(connection, record.id);
    this.network = new Network(connection, record.id);
    this.egress = new Egress(connection, record.id);
    this.ports = new Ports(connection, record.id);
  }

  /** The whole record. */
  get record(): Sandbox {
    return this.#record;
  }

  get id(): Sandbox['id'] {
    return this.#record.id;
  }

  get name(): string | null {
    return this.#record.name;
  }

  get state(): Sandbox['state'] {
    return this.#record.state;
  }

  /** Whether no action is on its way. */
  get settled(): boolean {
    return this.#record.state !== 'requested' && !isTransient(this.#record.state);
  }

  async refresh(options: CallOptions = {}): Promise<this> {
    return this.#take(await this.#sandboxes.get(this.id, options));
  }

  async recreate(options: ActOptions = {}): Promise<this> {
    return this.#take(await this.#sandboxes.recreate(this.id, options));
  }

  async stop(options: ActOptions = {}): Promise<this> {
    return this.#take(await this.#sandboxes.stop(this.id, options));
  }

  /** Running tools may end first, for `drainSeconds`; whatever still runs then stands still. */
  async pause(options: PauseOptions = {}): Promise<this> {
    return this.#take(await this.#sandboxes.pause(this.id, options));
  }

  async resume(options: ActOptions = {}): Promise<this> {
    return this.#take(await this.#sandboxes.resume(this.id, options));
  }

  async start(options: ActOptions = {}): Promise<this> {
    return this.#take(await this.#sandboxes.start(this.id, options));
  }

  /** Lets its lease end later by so many seconds; refused beyond its maximum, which the error names. */
  async extend(seconds: number, options: CallOptions = {}): Promise<this> {
    return this.#take(await this.#sandboxes.extend(this.id, seconds, options));
  }

  /** Keeps its files as they are now; its processes stand still for an instant. */
  snapshot(request: SnapshotRequest = {}, options: CallOptions = {}): Promise<Snapshot> {
    return this.#connection.call('snapshot.create', { params: { id: this.id }, body: request, ...options });
  }

  /** Ends a turn: the next number, and a snapshot of that name. */
  turnComplete(request: TurnRequest = {}, options: CallOptions = {}): Promise<Snapshot> {
    return this.#connection.call('snapshot.turn', { params: { id: this.id }, body: request, ...options });
  }

  /** Puts its files back to a snapshot, by its id or its name; its processes end. */
  async rollback(snapshot: string, options: RollbackOptions = {}): Promise<this> {
    return this.#take(await this.#sandboxes.rollback(this.id, snapshot, options));
  }

  /** New sandboxes that begin with its files and its network rules as they are now; nothing else of it is theirs. */
  fork(request: ForkRequest = {}, options: CallOptions = {}): Promise<SandboxHandle[]> {
    return this.#sandboxes.fork(this.id, request, options);
  }

  /** Destroying a destroyed sandbox is no error. */
  async destroy(options: ActOptions = {}): Promise<this> {
    return this.#take(await this.#sandboxes.destroy(this.id, options));
  }

  events(options: EventOptions = {}): AsyncGenerator<CaissonEvent, void, undefined> {
    return this.#sandboxes.events(this.id, options);
  }

  /** The route that it took, with every reason. */
  route(options: CallOptions = {}): Promise<SandboxRoute> {
    return this.#sandboxes.route(this.id, options);
  }

  attempts(options: CallOptions = {}): AsyncGenerator<AttemptSummary, void, undefined> {
    return this.#sandboxes.attempts(this.id, options);
  }

  /**
   * Runs a command to its end: text by `/bin/sh -c`, or a program with its arguments. One that takes longer than a few
   * minutes is for `run`: what carries requests gives up on an answer that does not begin.
   */
  exec(command: ExecRequest['command'], options: ExecOptions = {}): Promise<ExecResult> {
    return exec(this.#connection, this.id, command, options);
  }

  /** Runs a command and gives its output as it comes, for any amount of it and any length of time. */
  run(command: ExecRequest['command'], options: RunOptions = {}): Promise<RunResult> {
    return run(this.#connection, this.id, command, options);
  }

  /** What it uses at the moment. */
  stats(options: CallOptions = {}): Promise<SandboxStats> {
    return this.#connection.call('sandbox.stats', { params: { id: this.id }, ...options });
  }

  /**
   * Waits until no action is on its way, however long that takes, and tells each event meanwhile. The record is read
   * between the past events and the live ones, which begin where the past ended: nothing falls in between.
   */
  async untilSettled(
    options: { readonly signal?: AbortSignal; readonly onEvent?: (event: CaissonEvent) => void } = {},
  ): Promise<this> {
    const { signal, onEvent } = options;
    if (this.settled) return this;
    let after = 0;
    for await (const event of this.events({ follow: false, signal })) {
      onEvent?.(event);
      after = event.position;
    }
    if ((await this.refresh({ signal })).settled) return this;
    for await (const event of this.events({ after, signal })) {
      onEvent?.(event);
      // One action may follow another at once: only the record says that nothing is on its way.
      if (event.data.action === null && (await this.refresh({ signal })).settled) return this;
    }
    return this;
  }

  toJSON(): Sandbox {
    return this.#record;
  }

  #take(handle: SandboxHandle): this {
    this.#record = handle.record;
    return this;
  }
}
