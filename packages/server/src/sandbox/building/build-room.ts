import { CaissonError } from '@caisson/contract';
import type { ExitStatus, GuestClient, ProcessOutput } from '@caisson/guest';
import type { Driver, InstanceKey } from '../../drivers/driver.ts';
import { until } from '../../drivers/until.ts';
import type { RoomCommand, StepRoom } from '../../images/builders/native/step-room.ts';
import type { StepExit } from '../../images/builders/step-failure.ts';
import { sandboxUser } from '../../images/plan/sandbox-user.ts';
import type { Storage } from '../../storage/storage.ts';
import type { Spans } from '../../telemetry/spans.ts';
import { withDeadline } from '../deadline.ts';
import { spawn } from '../exec.ts';
import type { Deadlines } from '../work-context.ts';

/** A longer script is a file: an argument has 128 KiB at most. */
const argumentBytes = 100_000;
/** In memory, which goes with the room. */
const scriptFile = '/dev/shm/.caisson-step';
/**
 * Both outputs are one, so that what a step said last is last: two that are read apart have no order. On the line of its
 * first command, so that the numbers of lines in what a shell says are the script's.
 */
const oneOutput = 'exec 2>&1; ';
/** A disk with less than this share of it free is full: filesystems keep some for themselves. */
const fullShare = 0.02;

export interface BuildRoomParts {
  readonly key: InstanceKey;
  readonly storage: Storage;
  readonly driver: Driver;
  readonly deadlines: Deadlines;
  readonly spans: Spans;
  readonly onDisposed: () => void;
}

/** One room: a root filesystem and an instance, both under an id that no record has. */
export class BuildRoom implements StepRoom {
  readonly #parts: BuildRoomParts;
  #isRunning = true;
  #disposing: Promise<void> | undefined;

  constructor(parts: BuildRoomParts) {
    this.#parts = parts;
  }

  async guest(signal: AbortSignal): Promise<GuestClient> {
    const { driver, key } = this.#parts;
    if (!driver.guest) throw new CaissonError('internal', `${driver.name} has no guests`);
    return driver.guest(key, signal);
  }

  run(command: RoomCommand, signal: AbortSignal): Promise<StepExit> {
    const { spans, driver } = this.#parts;
    return spans.run('guest.step', { driver: driver.name }, () => this.#run(command, signal));
  }

  async #run(command: RoomCommand, signal: AbortSignal): Promise<StepExit> {
    const guest = await this.guest(signal);
    const { interpreter, user, directory: cwd, env, limitMs, onOutput } = command;
    const script = `${oneOutput}${command.script}`;
    const isLong = Buffer.byteLength(script) > argumentBytes;
    if (isLong) await guest.files.write(scriptFile, script, { user: 'root', mode: 0o644, signal });
    const argv = isLong ? [...interpreter, '-e', scriptFile] : [...interpreter, '-ec', script];
    const process = await spawn(guest, { argv, user, cwd, env, signal });
    // The room ends with the step: what runs too long is not asked to end, but ended with everything in it.
    const limit = AbortSignal.timeout(limitMs);
    const both = AbortSignal.any([signal, limit]);
    try {
      const ended = process.wait();
      const whole = Promise.all([
        ended,
        pour(process.stdout, ended, 'stdoutBytes', (chunk) => onOutput('stdout', chunk)),
        pour(process.stderr, ended, 'stderrBytes', (chunk) => onOutput('stderr', chunk)),
      ]);
      const [exit] = await until(both, whole);
      return exitOf(exit);
    } catch (error) {
      if (!signal.aborted && limit.aborted) return { why: 'timed_out' };
      throw error;
    } finally {
      process.leave();
    }
  }

  async put(folder: string, archive: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    const guest = await this.guest(signal);
    const asRoot = { user: 'root', signal } as const;
    const names = folder.split('/').filter(Boolean);
    for (const index of names.keys()) {
      const path = `/${names.slice(0, index + 1).join('/')}`;
      if (await guest.files.mkdir(path, { ...asRoot, parents: true }))
        await guest.files.chown(path, sandboxUser, asRoot);
    }
    await guest.files.tarIn(folder, archive, { ...asRoot, keepOwner: true });
  }

  async shortage(signal: AbortSignal): Promise<'disk' | 'pool' | undefined> {
    const { storage, key, deadlines } = this.#parts;
    return withDeadline('looking at the disk of a build', deadlines.inspectMs, signal, async (inner) => {
      if ((await storage.health(inner)).state === 'critical') return 'pool';
      const { exclusiveBytes, quotaBytes } = await storage.usage(key.sandbox, inner);
      if (quotaBytes !== null && exclusiveBytes >= quotaBytes * (1 - fullShare)) return 'disk';
      if (!storage.capabilities.ownDisk) return undefined;
      const { diskTotalBytes, diskUsedBytes } = await (await this.guest(inner)).stats(inner);
      const free = diskTotalBytes - diskUsedBytes;
      return diskTotalBytes > 0 && free < diskTotalBytes * fullShare ? 'disk' : undefined;
      // Who cannot be asked has said nothing; the failure of the step is the one to tell.
    }).catch(() => undefined);
  }

  async changes<T>(use: (folder: string) => Promise<T>, signal: AbortSignal): Promise<T> {
    const { storage, key } = this.#parts;
    await this.#endInstance(signal);
    return storage.view(key.sandbox, ({ changes }) => use(changes), signal);
  }

  dispose(): Promise<void> {
    this.#disposing ??= this.#dispose();
    return this.#disposing;
  }

  async #dispose(): Promise<void> {
    const { storage, key, deadlines, onDisposed } = this.#parts;
    const never = new AbortController().signal;
    try {
      await this.#endInstance(never);
      await withDeadline('removing a build room', deadlines.endMs, never, (inner) =>
        storage.destroy(key.sandbox, inner),
      );
    } catch {
      // Nobody holds it from now on: the reconciler removes what no record wants.
    } finally {
      onDisposed();
    }
  }

  async #endInstance(signal: AbortSignal): Promise<void> {
    if (!this.#isRunning) return;
    const { driver, key, deadlines } = this.#parts;
    await withDeadline('ending a build room', deadlines.endMs, signal, (inner) => driver.destroy(key, inner));
    this.#isRunning = false;
  }
}

/** Up to what the step itself wrote: what it leaves running may hold its output open for ever. */
async function pour(
  output: ProcessOutput,
  ended: Promise<ExitStatus>,
  written: 'stdoutBytes' | 'stderrBytes',
  take: (chunk: Uint8Array) => void,
): Promise<void> {
  let wanted = Number.POSITIVE_INFINITY;
  ended.then(
    (exit) => {
      wanted = exit[written];
      if (output.offset >= wanted) output.stop();
    },
    () => output.stop(),
  );
  for await (const chunk of output) {
    take(chunk);
    if (output.offset >= wanted) output.stop();
  }
}

function exitOf({ why, code, signal }: ExitStatus): StepExit {
  if (why === 'out_of_memory' || why === 'timed_out') return { why };
  if (why === 'exited') return { why, code };
  return { why: 'signalled', signal };
}
