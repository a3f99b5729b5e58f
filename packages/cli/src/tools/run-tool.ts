import { CaissonError, isErrorCode, isToolName, type ToolAnswer, type ToolName, tools } from '@caisson/contract';
import type { CommandContext } from '../command-context.ts';
import type { RunToolOptions } from '../commands/tool.ts';
import { findSandbox } from '../find-sandbox.ts';
import { collectKeyValue } from '../input/key-value.ts';
import type { Invocation } from '../invocation.ts';
import { errorText } from '../output/error-text.ts';
import { printable } from '../output/printable.ts';
import { writeBytes } from '../sessions/write-bytes.ts';

/** As much as a request may hold. */
const maxParamsBytes = 1_500_000;

export async function runTool(
  ref: string,
  name: string,
  words: readonly string[],
  options: RunToolOptions,
  context: CommandContext,
): Promise<void> {
  const { screen, invocation } = context;
  const params = { ...(await readParams(options.params, invocation)), ...readWords(name, words) };
  const sandbox = await findSandbox(await context.connect(options), ref);
  const answer = await sandbox.tools.run(name as ToolName, params as never, {
    ...requestOf(options),
    ...(options.follow === true ? { onProgress: ({ text }) => invocation.err.write(text) } : {}),
  });
  if (screen.wantsJson) screen.json(answer);
  else await show(answer, context);
  context.exitWith(answer.exitCode);
}

function requestOf({ callId, timeout, user, snapshot, memory, cpuTime, openFiles }: RunToolOptions) {
  const resources = {
    ...(memory === undefined ? {} : { memoryMiB: memory }),
    ...(cpuTime === undefined ? {} : { cpuSeconds: cpuTime }),
    ...(openFiles === undefined ? {} : { openFiles }),
  };
  return {
    ...(callId === undefined ? {} : { callId }),
    ...(timeout === undefined ? {} : { timeoutSeconds: timeout }),
    ...(user === undefined ? {} : { user }),
    ...(snapshot === undefined ? {} : { snapshot }),
    ...(Object.keys(resources).length === 0 ? {} : { resources }),
  };
}

async function readParams(given: string | undefined, invocation: Invocation): Promise<Record<string, unknown>> {
  if (given === undefined) return {};
  const text = given === '-' ? (await invocation.readStdin(maxParamsBytes)).toString('utf8') : given;
  try {
    const params: unknown = JSON.parse(text);
    if (typeof params === 'object' && params !== null && !Array.isArray(params)) return { ...params };
  } catch {
    // Told below.
  }
  throw new CaissonError('request_invalid', 'what the tool takes must be written as a JSON object');
}

/** Words are text; where the tool does not take text, they are JSON. */
function readWords(name: string, words: readonly string[]): Record<string, unknown> {
  let given: Record<string, string> | undefined;
  for (const word of words) given = collectKeyValue(word, given);
  const fields = (isToolName(name) ? tools[name].params.shape : {}) as Record<
    string,
    { safeParse(value: unknown): { success: boolean } }
  >;
  return Object.fromEntries(
    Object.entries(given ?? {}).map(([key, value]) => {
      const isText = fields[key]?.safeParse(value).success ?? true;
      return [key, isText ? value : asJson(value)];
    }),
  );
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The server says what is wrong with it.
    return text;
  }
}

async function show(answer: ToolAnswer, { screen, invocation }: CommandContext): Promise<void> {
  if (answer.error !== null) {
    const { code, message, hint } = answer.error;
    screen.note(errorText(new CaissonError(isErrorCode(code) ? code : 'internal', message, { hint })));
  } else {
    const { stdout } = invocation.stdio();
    for (const block of answer.content) {
      const bytes = block.type === 'text' ? Buffer.from(lined(block.text)) : Buffer.from(block.base64, 'base64');
      await writeBytes(stdout, bytes);
    }
  }
  if (answer.timedOut) screen.note('it was ended because its time was up');
  if (answer.truncated) screen.note('there is more than is shown');
  for (const notice of answer.notices) screen.note(`notice: ${printable(notice)}`);
  if (answer.snapshot !== null) screen.note(`snapshot ${answer.snapshot}`);
}

function lined(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
