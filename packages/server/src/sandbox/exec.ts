import { CaissonError, newId } from '@caisson/contract';
import {
  collect,
  type ExitStatus,
  feed,
  type GuestClient,
  type ProcessHandle,
  type SpawnOptions,
} from '@caisson/guest';

export type Command = Pick<SpawnOptions, 'argv' | 'env' | 'cwd' | 'user' | 'timeoutMs'>;

export interface Executed extends ExitStatus {
  readonly id: string;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly truncated: boolean;
}

/** When a sandbox has as many ended processes as it can remember, so many of the oldest are forgotten at once. */
const forgetAtOnce = 256;

/**
 * Runs a command to its end and forgets it. `onLeft` is given what to do when nobody waits for the answer any more: the
 * process goes on, can be found in the list, and its output is dropped when too much of it is kept.
 */
export async function exec(
  guest: GuestClient,
  command: Command,
  input: Uint8Array | undefined,
  maxBytes: number,
  onLeft: (leave: () => void) => void,
): Promise<Executed> {
  const process = await spawn(guest, { ...command, stdin: input !== undefined, whenDetached: 'drop' });
  let isLeft = false;
  onLeft(() => {
    isLeft = true;
    process.leave();
  });
  try {
    const feeding = input === undefined ? undefined : feed(process, input);
    const ended = process.wait();
    const [exit, stdout, stderr] = await Promise.all([
      ended,
      collect(process.stdout, maxBytes, ended.then(stdoutBytes)),
      collect(process.stderr, maxBytes, ended.then(stderrBytes)),
    ]);
    await feeding;
    const truncated = stdout.dropped > 0 || stderr.dropped > 0;
    return { ...exit, id: process.id, stdout: stdout.bytes, stderr: stderr.bytes, truncated };
  } catch (error) {
    // Only a client that is still there hears it: that of a server which shuts down.
    if (isLeft) throw new CaissonError('shutting_down', `${process.id} goes on`, { context: { process: process.id } });
    throw error;
  } finally {
    process.detach();
    // Its status is ours by now; a guest that is gone has forgotten it anyway.
    if (!isLeft) void process.forget({ unhurried: true }).catch(() => {});
  }
}

const stdoutBytes = (exit: ExitStatus) => exit.stdoutBytes;
const stderrBytes = (exit: ExitStatus) => exit.stderrBytes;

/** Starts a process with its output attached. */
export async function spawn(guest: GuestClient, options: SpawnOptions): Promise<ProcessHandle> {
  return await withRoom(guest, () => guest.processes.spawn({ id: newId('process'), ...options }));
}

/** A guest remembers so many processes; ended ones that nobody forgot make room for new ones, the oldest first. */
export async function withRoom<T>(guest: GuestClient, start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (error) {
    if (!(error instanceof CaissonError) || error.code !== 'max_processes_reached') throw error;
    const ended = (await guest.processes.list()).filter(({ exit }) => exit !== undefined).slice(0, forgetAtOnce);
    if (ended.length === 0) throw error;
    await Promise.all(ended.map(({ id }) => guest.request('process.forget', { id }).catch(() => {})));
    return await start();
  }
}
