import { CaissonError, hasCode, type ToolResources } from '@caisson/contract';
import { type ExitStatus, feed, type ProcessHandle, type ProcessOutput } from '@caisson/guest';
import { spawn } from '../exec.ts';
import { BoundedText } from './bounded-text.ts';
import { type ToolContext, type ToolResult, text } from './tool.ts';

export interface Program {
  readonly argv: readonly [string, ...string[]];
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly stdin?: string | undefined;
}

/** As `timeout` of the coreutils has it. */
export const timedOutCode = 124;
const killedCode = 128 + 9;

/** Runs a program to its end. Both of its outputs are one text, in the order in which they arrive. */
export async function runProgram(program: Program, context: ToolContext): Promise<ToolResult> {
  const { guest, user, timeoutMs, shutdown } = context;
  const { argv, cwd, env, stdin } = program;
  const limited = context.resources === undefined ? argv : withLimits(argv, context.resources);
  let process: ProcessHandle;
  try {
    const command = { argv: limited, cwd, env, user, timeoutMs, stdin: stdin !== undefined };
    process = await spawn(guest, { ...command, whenDetached: 'drop' });
  } catch (error) {
    if (hasCode(error, 'command_not_found')) throw await whyNotFound(program, context, error);
    throw error;
  }
  const leave = () => process.leave();
  shutdown.addEventListener('abort', leave, { once: true });
  try {
    if (shutdown.aborted) leave();
    const output = new BoundedText(context.maxBytes);
    const feeding = stdin === undefined ? undefined : feed(process, stdin);
    const ended = process.wait();
    const [exit] = await Promise.all([
      ended,
      pour(process.stdout, 'stdout', output, ended, context),
      pour(process.stderr, 'stderr', output, ended, context),
    ]);
    await feeding;
    const content = output.toString();
    return {
      content: content === '' ? [] : [text(content)],
      exitCode: exitCodeOf(exit),
      timedOut: exit.why === 'timed_out',
      truncated: output.isTruncated,
    };
  } catch (error) {
    if (shutdown.aborted) throw new CaissonError('shutting_down', `${process.id} goes on`);
    throw error;
  } finally {
    shutdown.removeEventListener('abort', leave);
    process.detach();
    // Its status is ours by now; a guest that is gone has forgotten it anyway.
    if (!shutdown.aborted) void process.forget().catch(() => {});
  }
}

/** Up to what the program itself wrote: a daemon that it leaves behind may hold its output open for ever. */
async function pour(
  output: ProcessOutput,
  stream: 'stdout' | 'stderr',
  into: BoundedText,
  ended: Promise<ExitStatus>,
  { onProgress }: ToolContext,
): Promise<void> {
  const decoder = new TextDecoder();
  let wanted = Number.POSITIVE_INFINITY;
  ended.then(
    ({ stdoutBytes, stderrBytes }) => {
      wanted = stream === 'stdout' ? stdoutBytes : stderrBytes;
      if (output.offset >= wanted) output.stop();
    },
    () => output.stop(),
  );
  for await (const chunk of output) {
    into.push(chunk);
    const decoded = decoder.decode(chunk, { stream: true });
    if (decoded !== '') onProgress({ stream, text: decoded });
    if (output.offset >= wanted) output.stop();
  }
}

function exitCodeOf({ why, code, signal }: ExitStatus): number {
  if (why === 'timed_out') return timedOutCode;
  return code ?? (signal === undefined ? killedCode : 128 + signal);
}

/**
 * The limits are those of the shell that becomes the program: no process more than without them. A processor limit is
 * told by a signal first, and kills a second later.
 */
function withLimits(argv: Program['argv'], { memoryMiB, cpuSeconds, openFiles }: ToolResources): [string, ...string[]] {
  const limits = [
    memoryMiB === undefined ? [] : [`ulimit -v ${memoryMiB * 1024}`],
    cpuSeconds === undefined ? [] : [`ulimit -S -t ${cpuSeconds}`, `ulimit -H -t ${cpuSeconds + 1}`],
    openFiles === undefined ? [] : [`ulimit -n ${openFiles}`],
  ].flat();
  return ['/bin/sh', '-c', [...limits, 'exec "$@"'].join(' && '), 'sh', ...argv];
}

/** The guest says the same of a program and of a working directory that are not there. */
async function whyNotFound({ argv, cwd }: Program, { guest, user }: ToolContext, cause: unknown): Promise<unknown> {
  if (cwd !== undefined) {
    const folder = await guest.files.stat(cwd, { user }).catch((error: unknown) => error);
    if (folder instanceof Error) return folder;
    if ((folder as { kind: string }).kind !== 'directory') {
      return new CaissonError('file_not_directory', `${cwd} is not a folder`, { context: { path: cwd } });
    }
  }
  const [name] = argv;
  return new CaissonError('tool_not_available', `there is no ${name} in the sandbox`, {
    context: { program: name },
    hint: `Add \`${name}\` to \`packages\` of the spec, or install it in the sandbox.`,
    cause,
  });
}
