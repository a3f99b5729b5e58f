import { CaissonError, type ErrorCode, hasCode, type ToolName, type ToolRequest, tools } from '@caisson/contract';
import { timedOutCode } from './run-program.ts';
import { type ToolContext, type ToolResult, type ToolWork, text } from './tool.ts';
import { toolWorks } from './tool-works.ts';

/** What is wrong with what a tool was given, or with what it found: that is its answer, for whoever called it. */
const answered: readonly ErrorCode[] = [
  'file_invalid',
  'file_not_directory',
  'file_not_found',
  'file_forbidden',
  'file_exists',
  'file_busy',
  'edit_conflict',
  'range_invalid',
  'request_invalid',
  'command_not_found',
  'tool_not_available',
  'disk_quota_exceeded',
  'max_processes_reached',
];

export interface Performed extends ToolResult {
  readonly exitCode: number;
  readonly error: { readonly code: string; readonly message: string; readonly hint: string } | null;
}

/** Does the work of a tool within its time. Throws only what says nothing about the work itself. */
export async function perform(
  tool: ToolName,
  params: unknown,
  request: ToolRequest,
  context: Omit<ToolContext, 'signal' | 'timeoutMs' | 'maxBytes' | 'user' | 'resources'>,
): Promise<Performed> {
  const timeoutMs = Math.ceil(request.timeoutSeconds * 1000);
  const limit = new TimeLimit(timeoutMs, context.shutdown);
  const { signal } = limit;
  const { user, resources, maxOutputBytes: maxBytes } = request;
  // The table ties each name to its params; TypeScript cannot follow a name that is not a constant.
  const work = toolWorks[tool] as ToolWork<ToolName>;
  try {
    const done = await work(params as never, { ...context, user, resources, maxBytes, timeoutMs, signal });
    return { exitCode: 0, error: null, ...done };
  } catch (error) {
    if (error instanceof CaissonError && hasCode(error, ...answered)) {
      const { code, message, hint } = error;
      const exitCode = code === 'tool_not_available' ? 127 : 1;
      return { content: [text(message)], exitCode, error: { code, message, hint } };
    }
    if (context.shutdown.aborted) throw new CaissonError('shutting_down', undefined, { cause: error });
    // A program has its own time, which stands still with the sandbox, and says what it wrote in it.
    if (limit.isUp && !tools[tool].spawns) {
      const said = `its time of ${request.timeoutSeconds} s was up`;
      return { content: [text(said)], exitCode: timedOutCode, timedOut: true, error: null };
    }
    throw error;
  } finally {
    limit.end();
  }
}

/** The time of one call. It listens to the server's own signal, which outlives every call, no longer than it must. */
class TimeLimit {
  isUp = false;
  readonly #abort = new AbortController();
  readonly #shutdown: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  readonly #stop = () => this.#abort.abort(this.#shutdown.reason);

  constructor(ms: number, shutdown: AbortSignal) {
    this.#shutdown = shutdown;
    this.#timer = setTimeout(() => {
      this.isUp = true;
      this.#abort.abort();
    }, ms);
    if (shutdown.aborted) this.#stop();
    else shutdown.addEventListener('abort', this.#stop, { once: true });
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#shutdown.removeEventListener('abort', this.#stop);
  }
}
