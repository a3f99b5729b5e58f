import { CaissonError } from '@caisson/contract';
import type { HostClient, RunResult } from '@caisson/guest';
import type { CgroupLayout } from './cgroup.ts';
import type { InstanceFolder } from './instance-folder.ts';
import { type KnownRuntime, knownRuntimes, type RuntimeName } from './known-runtimes.ts';

/** Longer than any runtime takes on a machine that swaps; a call that takes longer hangs. */
const callTimeoutMs = 60_000;
const lastLines = 10;

/** One OCI runtime, through the command line that all of them have. */
export class Runtime {
  readonly name: RuntimeName;
  readonly known: KnownRuntime;
  readonly options: readonly string[];
  readonly #host: HostClient;
  readonly #command: readonly string[];

  constructor(options: {
    readonly name: RuntimeName;
    readonly program: string;
    /** Where it keeps what it knows about its containers. */
    readonly state: string;
    readonly layout: CgroupLayout;
    /** Those before the verb. */
    readonly options: readonly string[];
    readonly host: HostClient;
  }) {
    this.name = options.name;
    this.known = knownRuntimes[options.name];
    this.#host = options.host;
    const wrapper = this.known.wrapper(options.layout, options.host.program);
    this.options = options.options;
    this.#command = [...wrapper, options.program, '--root', options.state, ...options.options];
  }

  /** Starts the instance of the folder. When it resolves its first process runs, or ran. */
  async run(folder: InstanceFolder, stdin: Uint8Array, signal: AbortSignal): Promise<void> {
    const result = await this.#call(
      [
        '--log',
        folder.runtimeLog,
        'run',
        '--detach',
        '--bundle',
        folder.path,
        '--pid-file',
        folder.pidFile,
        folder.name,
      ],
      { stdin, stdoutPath: folder.console, stderrPath: folder.console, signal },
    );
    if (result.code !== 0) throw this.#failure('run', result, folder);
  }

  /** Runs to the end of its first process; for trying out. */
  async runToEnd(folder: InstanceFolder, signal: AbortSignal): Promise<void> {
    const args = ['--log', folder.runtimeLog, 'run', '--bundle', folder.path, folder.name];
    const result = await this.#call(args, { stdoutPath: folder.console, stderrPath: folder.console, signal });
    if (result.code !== 0) throw this.#failure('run', result, folder);
  }

  async kill(folder: InstanceFolder): Promise<void> {
    await this.#call(['kill', folder.name, 'KILL'], {});
  }

  /** Removes what the runtime has of it; what is not there is removed already. `force` ends it first. */
  async delete(folder: InstanceFolder, options: { readonly force: boolean }): Promise<void> {
    const result = await this.#call(['delete', ...(options.force ? ['--force'] : []), folder.name], {});
    if (result.code !== 0 && !/does not exist|not found|no such file/i.test(words(result)))
      throw this.#failure('delete', result, folder);
  }

  async pause(folder: InstanceFolder, signal: AbortSignal): Promise<void> {
    const result = await this.#call(['pause', folder.name], { signal });
    if (result.code !== 0) throw this.#failure('pause', result, folder);
  }

  async resume(folder: InstanceFolder, signal?: AbortSignal): Promise<void> {
    const result = await this.#call(['resume', folder.name], { signal });
    if (result.code !== 0) throw this.#failure('resume', result, folder);
  }

  #call(
    args: readonly string[],
    options: { stdin?: Uint8Array; stdoutPath?: string; stderrPath?: string; signal?: AbortSignal | undefined },
  ): Promise<RunResult> {
    const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };
    return this.#host.run([...this.#command, ...args], { env, timeoutMs: callTimeoutMs, ...options });
  }

  #failure(verb: string, result: RunResult, folder: InstanceFolder): CaissonError {
    const lines = [...folder.lastLines(lastLines), ...words(result).split('\n')].filter((line) => line !== '');
    const how = result.timedOut ? 'did not end' : `ended with ${result.code ?? `signal ${result.signal}`}`;
    return new CaissonError(
      result.timedOut ? 'driver_timeout' : 'driver_failed',
      `${this.name} ${verb} ${how}: ${message(lines.at(-1) ?? '')}`,
      { context: { runtime: this.name, lines: lines.slice(-lastLines) } },
    );
  }
}

function words(result: RunResult): string {
  return Buffer.concat([result.stdout, result.stderr]).toString().trim();
}

/** What a line of a runtime's log says, in whichever of their forms. */
function message(line: string): string {
  const quoted = /msg="((?:[^"\\]|\\.)*)"/.exec(line)?.[1] ?? /"msg":"((?:[^"\\]|\\.)*)"/.exec(line)?.[1];
  return (quoted?.replaceAll('\\"', '"') ?? line).slice(0, 1_000);
}
