import { hasCode, type ProcessExit } from '@caisson/contract';
import type { Attachment, OutputChunk } from '@caisson/sdk';
import type { Invocation } from '../invocation.ts';
import { DetachKeys } from './detach-keys.ts';
import { Interrupts } from './interrupts.ts';
import { RawTerminal, terminalSize } from './raw-terminal.ts';
import { writeBytes } from './write-bytes.ts';

/** How our side of a process ended: with the process, or before it. */
export type SessionEnd =
  | { readonly left: false; readonly exit: ProcessExit }
  | { readonly left: 'keys' | 'interrupts' | 'output-closed' };

export interface SessionOptions {
  /** Whether it has a terminal, which ours then becomes. */
  readonly tty: boolean;
  /** Whether it gets our stdin. */
  readonly input: boolean;
  /** Only watched: Ctrl-C leaves it at once. */
  readonly watches?: boolean | undefined;
  readonly detachKeys: Buffer;
  /** Instead of our stdout and stderr. */
  readonly output?: ((chunk: OutputChunk) => unknown) | undefined;
}

/**
 * Joins our streams to those of a process until it ends or we leave.
 *
 * Laws
 * - Whatever ends the session but the process itself leaves the process running.
 * - A slow reader of our output slows the process; nothing piles up here.
 */
export async function runSession(
  attachment: Attachment,
  { stdio: streams, whenOutputCloses }: Pick<Invocation, 'stdio' | 'whenOutputCloses'>,
  options: SessionOptions,
): Promise<SessionEnd> {
  const stdio = streams();
  const { tty } = options;
  const terminal = new RawTerminal(stdio);
  let left: Exclude<SessionEnd['left'], false> | undefined;
  let over: () => void = () => {};
  const leaving = new Promise<void>((resolve) => {
    over = resolve;
  });
  const leave = (how: Exclude<SessionEnd['left'], false>) => {
    left ??= how;
    // Now: the end of the loop that reads stdin closes it, and a closed terminal cannot be restored.
    terminal.restore();
    attachment.close();
    over();
  };
  const give = options.output ?? (({ stream, bytes }: OutputChunk) => writeBytes(stdio[stream], bytes));
  const reading = async () => {
    for await (const chunk of attachment) {
      if (tty) terminal.sees(chunk.bytes);
      await give(chunk);
    }
  };
  const interrupts = new Interrupts(
    () => (options.watches === true ? leave('interrupts') : void attachment.signal('SIGINT').catch(() => {})),
    () => leave('interrupts'),
  );
  whenOutputCloses(() => leave('output-closed'));
  const stopFollowing = tty ? followSize(stdio, attachment) : () => {};
  if (tty && options.input && stdio.stdin.isTTY === true) terminal.begin();
  else interrupts.begin();
  try {
    const typing = options.input ? passInput(stdio.stdin, attachment, tty, options.detachKeys, leave) : undefined;
    const output = reading();
    // Once we have left nobody waits for it.
    output.catch(() => {});
    await Promise.race([output, leaving, ...(typing === undefined ? [] : [failing(typing)])]);
  } finally {
    terminal.restore();
    interrupts.end();
    stopFollowing();
    whenOutputCloses(undefined);
    attachment.close();
    // Nobody reads it any more, and it must not keep the command.
    if (options.input) stdio.stdin.destroy();
  }
  if (attachment.exit !== undefined) return { left: false, exit: attachment.exit };
  return { left: left ?? 'interrupts' };
}

/** The failure of a promise, and never its success. */
function failing(work: Promise<unknown>): Promise<never> {
  return new Promise((_, reject) => void work.catch(reject));
}

async function passInput(
  stdin: AsyncIterable<Buffer | string>,
  attachment: Attachment,
  tty: boolean,
  detachKeys: Buffer,
  leave: (how: 'keys') => void,
): Promise<void> {
  const keys = new DetachKeys(detachKeys);
  const watchesKeys = tty && detachKeys.length > 0;
  try {
    for await (const piece of stdin) {
      const bytes = Buffer.from(piece);
      const { pass, isComplete } = watchesKeys ? keys.take(bytes) : { pass: bytes, isComplete: false };
      if (pass.byteLength > 0) await attachment.write(pass);
      if (isComplete) return leave('keys');
    }
    await attachment.end();
  } catch (error) {
    // A process may end, or close its stdin, before it has read everything; its output goes on telling.
    if (hasCode(error, 'process_ended') || hasCode(error, 'process_not_found')) return;
    if ((error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE') return;
    throw error;
  }
}

/** Tells the process each new size of our terminal, the newest when several come at once. */
function followSize(stdio: ReturnType<Invocation['stdio']>, attachment: Attachment): () => void {
  let telling = false;
  let isDue = false;
  const tell = async () => {
    isDue = true;
    if (telling) return;
    telling = true;
    while (isDue) {
      isDue = false;
      const { columns, rows } = terminalSize(stdio);
      // A process that has ended has no size; any other failure shows in its output.
      await attachment.resize(columns, rows).catch(() => {});
    }
    telling = false;
  };
  stdio.stdout.on('resize', tell);
  return () => stdio.stdout.off('resize', tell);
}
