import { CaissonError } from '@caisson/contract';
import type { Result } from '../protocol/methods.ts';
import type { GuestChannel } from './guest-channel.ts';
import type { GuestClient } from './guest-client.ts';
import type { GuestConnection } from './guest-connection.ts';
import { decodeResult, open } from './open-channel.ts';
import { ProcessInput } from './process-input.ts';
import { ProcessOutput } from './process-output.ts';
import { ConnectionLost, fromAbort } from './translate-error.ts';

/** Made once: its stack says nothing. */
const left = new CaissonError('action_cancelled');

export type ExitStatus = Result<'process.wait'>;

/** A process in the sandbox. It lives on when this object, the connection or the server does not. */
export class ProcessHandle {
  readonly id: string;
  readonly stdout: ProcessOutput;
  readonly stderr: ProcessOutput;
  readonly stdin: ProcessInput;
  readonly #client: GuestClient;
  #pid: number | undefined;
  #waiting: GuestChannel | undefined;
  #exit: Promise<ExitStatus> | undefined;

  /** `from`: of a process that was there before; without it, of one that is just being started. */
  constructor(client: GuestClient, id: string, from?: { readonly stdout?: number; readonly stderr?: number }) {
    this.#client = client;
    this.id = id;
    this.stdout = new ProcessOutput(client, id, 'stdout', from?.stdout ?? 0);
    this.stderr = new ProcessOutput(client, id, 'stderr', from?.stderr ?? 0);
    this.stdin = new ProcessInput(client, id, from === undefined);
  }

  /** Its pid inside the sandbox; undefined for one that was attached to. */
  get pid(): number | undefined {
    return this.#pid;
  }

  // What `spawn` does with a fresh handle.

  attachTo(connection: GuestConnection, withStderr: boolean): void {
    this.stdout.attachTo(connection);
    if (withStderr) this.stderr.attachTo(connection);
  }

  waitOn(connection: GuestConnection): void {
    this.#waiting = open(connection, 'process.wait', { id: this.id });
  }

  started({ pid }: Result<'process.spawn'>): void {
    this.#pid = pid;
  }

  /** How it ended, when it has. May be called any number of times. */
  async wait(signal?: AbortSignal): Promise<ExitStatus> {
    this.#exit ??= this.#waitForExit();
    this.#exit.catch(() => {});
    if (signal === undefined) return await this.#exit;
    if (signal.aborted) throw fromAbort(signal);
    const exit = this.#exit;
    return await new Promise((resolve, reject) => {
      const stop = () => reject(fromAbort(signal));
      signal.addEventListener('abort', stop, { once: true });
      exit.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
    });
  }

  async #waitForExit(): Promise<ExitStatus> {
    return await this.#client.onConnection('process.wait', undefined, async (connection) => {
      if (this.#waiting === undefined || this.#waiting.failed instanceof ConnectionLost) this.waitOn(connection);
      const channel = this.#waiting;
      if (channel === undefined) throw new CaissonError('internal');
      return decodeResult('process.wait', await channel.result);
    });
  }

  /** To its process group, or to it alone. Delivered once, also when the answer is lost. */
  async signal(signal: number, target: 'group' | 'process' = 'group'): Promise<void> {
    await this.#client.processes.signal(this.id, signal, target);
  }

  async resize(rows: number, columns: number): Promise<void> {
    await this.#client.request('process.resize', { id: this.id, size: { rows, columns } });
  }

  /** Stops reading its output. The process is not touched. */
  detach(): void {
    this.stdout.stop();
    this.stderr.stop();
  }

  /** As `detach`, and no longer waits for its end. The handle is of no use afterwards. */
  leave(): void {
    this.detach();
    this.#waiting?.cancel(left);
  }

  /** Frees its status and its output in the guest. Only of a process that has ended. */
  async forget(options: { readonly unhurried?: boolean } = {}): Promise<void> {
    await this.#client.request('process.forget', { id: this.id }, options);
  }
}
