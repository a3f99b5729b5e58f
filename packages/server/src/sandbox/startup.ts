import { createHash } from 'node:crypto';
import { CaissonError, type Id, idPrefixes, type WorkspaceBlueprint } from '@caisson/contract';
import { collect, type ExitStatus, type GuestClient, type SpawnOptions } from '@caisson/guest';
import { repositoryDirectory, type Step } from '@caisson/workspace-composition';
import { speaksOfNoSpace } from '../images/builders/step-failure.ts';
import { launchCommand } from '../images/harnesses/commands.ts';
import { findHarness } from '../images/harnesses/table.ts';
import { sandboxUser } from '../images/plan/sandbox-user.ts';

/** The tags under which people find these processes. */
export const startupTag = 'startup';
export const foregroundTag = 'foreground';

/** A terminal that nobody has attached to yet; whoever does brings a size. */
const pty = { rows: 40, columns: 120 };
/** Of what a failing step wrote last, so much is told. */
const lastBytes = 8_192;
const lastLineCount = 20;
/** What a step may write and have shown later. */
const ringBytes = 1_048_576;

export interface StartUp {
  readonly guest: GuestClient;
  readonly attempt: Id<'attempt'>;
  readonly blueprint: WorkspaceBlueprint;
  /** Whether the image has the harness. */
  readonly hasHarness: boolean;
  readonly deadlineMs: number;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Runs the startup steps of a blueprint one after the other, then starts its foreground and leaves it to itself.
 *
 * Law: the names of the processes come from the attempt, so a server that goes on after another one was killed finds the
 * step that runs and waits for it; no step runs twice.
 */
export async function startUp(request: StartUp): Promise<void> {
  const { blueprint, deadlineMs } = request;
  const { steps } = blueprint.lifecycle.startup;
  const endsAt = Date.now() + deadlineMs;
  for (const [index, step] of steps.entries()) {
    request.progress(`startup: ${step.id}`);
    await runStep(request, step, index, Math.max(1, endsAt - Date.now()));
  }
  await startForeground(request);
}

/** Whether a blueprint has anything to run at its launch. */
export function startsSomething({ lifecycle: { startup }, harness }: WorkspaceBlueprint): boolean {
  return startup.steps.length > 0 || startup.foreground.kind === 'command' || harness.id !== 'none';
}

async function runStep(request: StartUp, step: Step, index: number, timeoutMs: number): Promise<void> {
  const { guest, attempt, signal } = request;
  const id = processId(attempt, `step ${index}`);
  await begin(guest, `the startup step ${step.id}`, {
    id,
    argv: [shellOf(step.shell), '-e', '-c', step.run],
    cwd: step.workingDirectory,
    tags: [startupTag, `${startupTag}:${step.id}`.slice(0, 64)],
    timeoutMs,
    signal,
  });
  const exit = await guest.processes.wait(id, signal);
  if (exit.code === 0) return;
  const lastLines = await wordsOf(guest, id, exit);
  const last = lastLines.at(-1);
  const message = `the startup step ${step.id} ${howEnded(exit)}${last === undefined ? '' : `: ${last}`}`;
  const context = { step: step.id, command: step.run.slice(0, 2_048), exitCode: exit.code ?? null, lastLines };
  if (speaksOfNoSpace(lastLines))
    throw new CaissonError('disk_quota_exceeded', `the startup step ${step.id} filled the disk of the sandbox`, {
      context,
    });
  throw new CaissonError('startup_failed', message, { context });
}

async function startForeground(request: StartUp): Promise<void> {
  const { guest, attempt, blueprint, signal } = request;
  const command = foregroundOf(request);
  if (!command) return;
  const isHarness = blueprint.lifecycle.startup.foreground.kind === 'harness';
  await begin(guest, 'the foreground', {
    id: processId(attempt, 'foreground'),
    ...command,
    env: { TERM: 'xterm-256color' },
    pty,
    stdin: true,
    tags: [foregroundTag, ...(isHarness ? [blueprint.harness.id] : [])],
    signal,
  });
}

/** Starts a process in its folder, which is made where it is not there; then it is the user's. */
async function begin(
  guest: GuestClient,
  what: string,
  options: SpawnOptions & { readonly cwd: string },
): Promise<void> {
  const { cwd, signal } = options;
  const asRoot = { user: 'root', signal } as const;
  try {
    if (await guest.files.mkdir(cwd, { ...asRoot, parents: true })) await guest.files.chown(cwd, sandboxUser, asRoot);
    await guest.processes.start({ ...options, whenDetached: 'drop', ringBytes });
  } catch (error) {
    if (!(error instanceof CaissonError) || !/^(?:command_|file_|request_)/.test(error.code)) throw error;
    throw new CaissonError('startup_failed', `${what} cannot be started: ${error.message}`, { cause: error });
  }
}

function foregroundOf({ blueprint, hasHarness }: StartUp): { argv: readonly string[]; cwd: string } | undefined {
  const { lifecycle, harness, runtime, sources } = blueprint;
  const { foreground } = lifecycle.startup;
  if (foreground.kind === 'command')
    return { argv: [shellOf(foreground.shell), '-c', foreground.run], cwd: foreground.workingDirectory };
  const found = findHarness(harness.id);
  if (!found || !hasHarness) return undefined;
  const cwd = sources.workspace.kind === 'none' ? runtime.workspaceRoot : repositoryDirectory(runtime.workspaceRoot);
  return { argv: launchCommand(found, harness.profile).argv, cwd };
}

function shellOf(shell: Step['shell']): string {
  return shell === 'bash' ? 'bash' : '/bin/sh';
}

/** An id that this attempt gives the same process each time. */
function processId(attempt: Id<'attempt'>, what: string): Id<'process'> {
  const hash = createHash('sha256').update(`${attempt} ${what}`).digest();
  const body = [...hash.subarray(0, 20)].map((byte) => (byte % 36).toString(36)).join('');
  return `${idPrefixes.process}${body}`;
}

function howEnded({ why, code, signal }: ExitStatus): string {
  if (why === 'timed_out') return 'did not end in time';
  if (why === 'out_of_memory') return 'ran out of memory';
  return code === undefined ? `was ended by signal ${signal ?? '?'}` : `ended with exit code ${code}`;
}

/** The last lines of both streams. */
async function wordsOf(guest: GuestClient, id: string, exit: ExitStatus): Promise<string[]> {
  const { stdoutBytes, stderrBytes } = exit;
  const from = { stdout: Math.max(0, stdoutBytes - lastBytes), stderr: Math.max(0, stderrBytes - lastBytes) };
  const process = guest.processes.attach(id, from);
  try {
    const [out, err] = await Promise.all([
      collect(process.stdout, lastBytes, Promise.resolve(stdoutBytes)),
      collect(process.stderr, lastBytes, Promise.resolve(stderrBytes)),
    ]);
    const text = `${out.bytes.toString('utf8')}\n${err.bytes.toString('utf8')}`;
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    return lines.slice(-lastLineCount).map((line) => line.slice(0, 500));
  } finally {
    process.detach();
  }
}
