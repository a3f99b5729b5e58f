import { CaissonError, newId } from '@caisson/contract';
import { limits } from '../protocol/limits.ts';
import type { MethodRecord, Params, Result } from '../protocol/methods.ts';
import { collect } from './collect.ts';
import { feed } from './feed.ts';
import type { GuestClient } from './guest-client.ts';
import type { GuestConnection } from './guest-connection.ts';
import { decodeResult, open } from './open-channel.ts';
import type { ExitStatus } from './process-handle.ts';
import { ProcessHandle } from './process-handle.ts';

export interface SpawnOptions {
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Begin with the user's PATH, HOME, USER, SHELL and TERM; true when absent. */
  readonly inheritEnv?: boolean | undefined;
  readonly cwd?: string | undefined;
  readonly user?: string | undefined;
  readonly pty?: { readonly rows: number; readonly columns: number } | undefined;
  readonly stdin?: boolean | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly timeoutMs?: number | undefined;
  readonly graceMs?: number | undefined;
  readonly ringBytes?: number | undefined;
  /** At a full ring with nobody attached: `wait` (when absent) or `drop` the oldest. */
  readonly whenDetached?: 'wait' | 'drop' | undefined;
  /** Its id; a fresh one when absent. A repetition with the same id finds the same process. */
  readonly id?: string | undefined;
  /** Whether output is read from the start; true when absent. */
  readonly attach?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ExecOptions extends Omit<SpawnOptions, 'argv' | 'attach' | 'stdin'> {
  readonly input?: Uint8Array | string | undefined;
  /** Most bytes kept of each stream; 1 MiB when absent. What is more is read and dropped. */
  readonly maxBytes?: number | undefined;
}

export interface ExecResult extends ExitStatus {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** Bytes that were dropped because of `maxBytes`. */
  readonly dropped: number;
}

export type ProcessInfo = MethodRecord<'process.list'>['processes'][number];

export class GuestProcesses {
  /** Variables of every process that is started from now on, below those of its own. */
  baseEnv: Readonly<Record<string, string>> | undefined;
  readonly #client: GuestClient;
  readonly #signalling = new Map<string, Promise<void>>();

  constructor(client: GuestClient) {
    this.#client = client;
  }

  #params(options: SpawnOptions): Params<'process.spawn'> {
    const { baseEnv } = this;
    return spawnParams(baseEnv === undefined ? options : { ...options, env: { ...baseEnv, ...options.env } });
  }

  /** Starts a process. Spawn, both attachments and the wait leave in one write: that is one round trip. */
  async spawn(options: SpawnOptions): Promise<ProcessHandle> {
    const params = this.#params(options);
    return await this.#client.onConnection('process.spawn', options.signal, async (connection) => {
      const handle = new ProcessHandle(this.#client, params.id);
      const channel = open(connection, 'process.spawn', params, { signal: options.signal });
      if (options.attach !== false) handle.attachTo(connection, options.pty === undefined);
      handle.waitOn(connection);
      handle.started(decodeResult('process.spawn', await channel.result));
      return handle;
    });
  }

  /** Starts a process and leaves it to itself: no channel stays open for it. `existed`: the id was known already. */
  async start(options: Omit<SpawnOptions, 'attach'>): Promise<Result<'process.spawn'>> {
    return await this.#client.request('process.spawn', this.#params(options), { signal: options.signal });
  }

  /** How it ended, when it has. Giving up leaves no channel behind. */
  async wait(id: string, signal?: AbortSignal): Promise<ExitStatus> {
    return await this.#client.request('process.wait', { id }, { signal });
  }

  /** A process that runs already, or ended and was not forgotten. Its output begins at the given offsets. */
  attach(id: string, from: { readonly stdout?: number; readonly stderr?: number } = {}): ProcessHandle {
    return new ProcessHandle(this.#client, id, from);
  }

  /** Runs a command to its end and forgets it. Output of daemons that it left behind is not waited for. */
  async exec(argv: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
    const { input, maxBytes = 1_048_576 } = options;
    const process = await this.spawn({ ...options, argv, stdin: input !== undefined });
    const stop = () => void process.signal(9).catch(() => {});
    options.signal?.addEventListener('abort', stop, { once: true });
    try {
      const feeding = input === undefined ? undefined : feed(process, input);
      const ended = process.wait(options.signal);
      const [exit, stdout, stderr] = await Promise.all([
        ended,
        collect(
          process.stdout,
          maxBytes,
          ended.then(({ stdoutBytes }) => stdoutBytes),
        ),
        collect(
          process.stderr,
          maxBytes,
          ended.then(({ stderrBytes }) => stderrBytes),
        ),
      ]);
      await feeding;
      return { ...exit, stdout: stdout.bytes, stderr: stderr.bytes, dropped: stdout.dropped + stderr.dropped };
    } finally {
      options.signal?.removeEventListener('abort', stop);
      process.detach();
      // Its status is ours by now; a guest that is gone has forgotten it anyway.
      void process.forget({ unhurried: true }).catch(() => {});
    }
  }

  /** Signals of one process go one after the other, whoever sends them: each has the number after the last one's. */
  async signal(id: string, signal: number, target: 'group' | 'process'): Promise<void> {
    const before = this.#signalling.get(id) ?? Promise.resolve();
    const turn = before.then(async () => {
      const [info] = await this.list({ id });
      if (info === undefined) throw new CaissonError('process_not_found');
      await this.#client.request('process.signal', { id, signal, target, sequence: info.signalSequence + 1 });
    });
    const settled = turn.then(
      () => {},
      () => {},
    );
    this.#signalling.set(id, settled);
    await turn.finally(() => {
      if (this.#signalling.get(id) === settled) this.#signalling.delete(id);
    });
  }

  async list(
    filter: { readonly id?: string | undefined; readonly tag?: string | undefined } = {},
    signal?: AbortSignal,
  ): Promise<ProcessInfo[]> {
    const params: Params<'process.list'> = {
      ...(filter.id === undefined ? {} : { id: filter.id }),
      ...(filter.tag === undefined ? {} : { tag: filter.tag }),
    };
    return await this.#client.onConnection('process.list', signal, async (connection: GuestConnection) => {
      const channel = open(connection, 'process.list', params, { signal });
      const found: ProcessInfo[] = [];
      for await (const { processes } of channel.records<MethodRecord<'process.list'>>()) {
        found.push(...processes);
        if (processes.length === 0 || found.length > limits.processesMax)
          throw new CaissonError('guest_failed', 'the guest lists without end');
      }
      await channel.result;
      return found;
    });
  }
}

function spawnParams(options: SpawnOptions): Params<'process.spawn'> {
  const { argv, env, tags = [], cwd, user, pty, timeoutMs, graceMs, ringBytes } = options;
  const params: { -readonly [K in keyof Params<'process.spawn'>]: Params<'process.spawn'>[K] } = {
    id: options.id ?? newId('process'),
    argv,
    env: env === undefined ? [] : Object.entries(env).map(([name, value]) => `${name}=${value}`),
    inheritEnv: options.inheritEnv ?? true,
    stdin: options.stdin ?? pty !== undefined,
    tags,
    whenDetached: options.whenDetached ?? 'wait',
  };
  // One by one: as spreads they cost a command as much as all its frames.
  if (cwd !== undefined) params.cwd = cwd;
  if (user !== undefined) params.user = user;
  if (pty !== undefined) params.pty = pty;
  if (timeoutMs !== undefined) params.timeoutMs = timeoutMs;
  if (graceMs !== undefined) params.graceMs = graceMs;
  if (ringBytes !== undefined) params.ringBytes = ringBytes;
  return params;
}
