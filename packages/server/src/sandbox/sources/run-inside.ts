import { CaissonError, hasCode } from '@caisson/contract';
import { collect, type ExitStatus, type GuestClient } from '@caisson/guest';
import { remoteWords } from '../../images/sources/remote-words.ts';

/** Of what a program says; more is of no use to anybody. */
const keptBytes = 256 * 1024;

/** What a killed server left running is told by it. */
const sourceTag = 'caisson-source';

export interface Script {
  readonly text: string;
  readonly args: readonly string[];
  readonly user: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly input?: string | AsyncIterable<Uint8Array>;
  readonly shell?: string;
}

export interface Ran {
  readonly code: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** Runs a script to its end. What it is given is read as fast as it takes it; when it ends early, no further. */
export async function runInside(guest: GuestClient, script: Script, signal: AbortSignal): Promise<Ran> {
  const { text, args, user, env, cwd, input, shell = '/bin/sh' } = script;
  const argv = [shell, '-c', text, 'sh', ...args];
  const stdin = input !== undefined;
  const process = await guest.processes.spawn({ argv, env, cwd, user, stdin, tags: [sourceTag], signal });
  const stop = () => void process.signal(9).catch(() => {});
  signal.addEventListener('abort', stop, { once: true });
  try {
    const ended = process.wait(signal);
    const feeding = input === undefined ? undefined : feed(process, input, ended);
    feeding?.catch(stop);
    const output = (which: 'stdout' | 'stderr') =>
      collect(
        process[which],
        keptBytes,
        ended.then((exit) => exit[`${which}Bytes`]),
      );
    const [exit, stdout, stderr] = await Promise.all([ended, output('stdout'), output('stderr'), feeding]);
    return { code: codeOf(exit), stdout: stdout.bytes, stderr: stderr.bytes.toString('utf8') };
  } finally {
    signal.removeEventListener('abort', stop);
    process.detach();
    void process.forget({ unhurried: true }).catch(() => {});
  }
}

/** Ends what an earlier server began and cannot go on with. */
export async function endLeftovers(guest: GuestClient, signal: AbortSignal): Promise<void> {
  const left = await guest.processes.list({ tag: sourceTag }, signal);
  for (const { id, exit } of left) {
    if (exit === undefined) await guest.processes.signal(id, 9, 'group').catch(() => {});
    await guest.processes.wait(id, signal).catch(() => {});
    await guest.request('process.forget', { id }, { signal }).catch(() => {});
  }
}

/** The script must end well; what it says last is the error. */
export async function mustRun(guest: GuestClient, script: Script, signal: AbortSignal): Promise<Ran> {
  const ran = await runInside(guest, script, signal);
  if (ran.code !== 0) throw failureOf(ran);
  return ran;
}

export function failureOf({ code, stderr }: Ran): CaissonError {
  if (/No space left on device|Disk quota exceeded/i.test(stderr))
    return new CaissonError('disk_quota_exceeded', 'it does not fit on the disk of the sandbox');
  if (/\bgit: (?:command )?not found/.test(stderr)) return noGit();
  const last = stderr.trim().split('\n').slice(-3).join(' ');
  return new CaissonError('source_failed', `git ended with ${code}: ${remoteWords(last) || 'it said nothing'}`);
}

export function noGit(where: 'sandbox' | 'image' = 'sandbox'): CaissonError {
  return new CaissonError('source_failed', `there is no git in the ${where} to unpack it with`, {
    hint: 'Add `git` to `packages` of the spec, or use an image that has it.',
  });
}

export async function hasGit(guest: GuestClient, user: string, signal: AbortSignal): Promise<boolean> {
  try {
    return (await guest.processes.exec(['git', '--version'], { user, signal })).code === 0;
  } catch (error) {
    if (hasCode(error, 'command_not_found', 'tool_not_available')) return false;
    throw error;
  }
}

async function feed(
  process: Awaited<ReturnType<GuestClient['processes']['spawn']>>,
  input: string | AsyncIterable<Uint8Array>,
  ended: Promise<ExitStatus>,
): Promise<void> {
  let isOver = false;
  const over = ended.then(
    () => {
      isOver = true;
    },
    () => {
      isOver = true;
    },
  );
  try {
    const chunks = typeof input === 'string' ? [Buffer.from(input)] : input;
    for await (const chunk of chunks) {
      // A program that has ended takes nothing, and a write to it may never be answered.
      await Promise.race([process.stdin.write(chunk), over]);
      if (isOver) return;
    }
    await Promise.race([process.stdin.end(), over]);
  } catch (error) {
    // Why it ended is told by how it ended.
    if (!hasCode(error, 'process_ended')) throw error;
  }
}

function codeOf({ code, signal }: ExitStatus): number {
  return code ?? 128 + (signal ?? 9);
}
