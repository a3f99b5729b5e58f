import { isUtf8 } from 'node:buffer';
import type { Attachment, OutputChunk, Process } from '@caisson/sdk';
import type { CommandContext } from '../command-context.ts';
import type { LogsOptions } from '../commands/logs.ts';
import { findProcess } from '../find-process.ts';
import { findSandbox } from '../find-sandbox.ts';
import { withProgress } from '../output/progress.ts';
import { LastLines } from './last-lines.ts';
import { writeBytes } from './write-bytes.ts';

/** Shows the kept output of a process, and with `follow` what comes after it. */
export async function logs(ref: string, wanted: string, options: LogsOptions, context: CommandContext): Promise<void> {
  const { invocation, screen } = context;
  const { follow = false, tail } = options;
  const process = await withProgress(screen, `asking ${ref}`, async () => {
    const sandbox = await findSandbox(await context.connect(options, { webSockets: follow }), ref);
    return findProcess(sandbox, wanted);
  });
  const stdio = invocation.stdio();
  const show = (chunk: OutputChunk): unknown =>
    screen.wantsJson ? screen.print(pieceText(chunk)) : writeBytes(stdio[chunk.stream], chunk.bytes);
  const source = follow && process.running ? following(process) : written(process);
  const last = tail === undefined ? undefined : new LastLines(tail);
  let isHeld = last !== undefined;
  const release = async () => {
    isHeld = false;
    for (const chunk of last?.chunks() ?? []) await show(chunk);
  };
  for await (const { chunk, isCaughtUp } of source) {
    if (chunk !== undefined && isHeld) last?.take(chunk);
    else if (chunk !== undefined) await show(chunk);
    if (isHeld && isCaughtUp) await release();
  }
  if (isHeld) await release();
}

interface Step {
  readonly chunk?: OutputChunk;
  /** Whether everything that was written before we asked has come. */
  readonly isCaughtUp: boolean;
}

async function* written(process: Process): AsyncGenerator<Step> {
  for await (const chunk of process.written()) yield { chunk, isCaughtUp: false };
}

async function* following(process: Process): AsyncGenerator<Step> {
  const { stdoutBytes, stderrBytes } = process.record;
  const attachment: Attachment = process.attach();
  let seen = 0;
  const isCaughtUp = () => seen + attachment.lost >= stdoutBytes + stderrBytes;
  if (isCaughtUp()) yield { isCaughtUp: true };
  for await (const chunk of attachment) {
    seen += chunk.bytes.byteLength;
    yield { chunk, isCaughtUp: isCaughtUp() };
  }
}

function pieceText({ stream, bytes }: OutputChunk): string {
  const buffer = Buffer.from(bytes);
  return JSON.stringify(
    isUtf8(buffer) ? { stream, text: buffer.toString('utf8') } : { stream, base64: buffer.toString('base64') },
  );
}
