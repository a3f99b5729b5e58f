import { CaissonError, type ProcessStarted, toProblem } from '@caisson/contract';
import type { ExitStatus, ProcessOutput } from '@caisson/guest';
import type { Attachment } from '../sandbox/attachments.ts';
import type { FrameSink } from './byte-sink.ts';
import { processExit } from './process-record.ts';

/** Proxies close what is silent for a minute, and a client must be able to tell silence from a dead connection. */
const keepaliveMs = 15_000;
const nothing = new Uint8Array(0);

/** How much of its output is wanted: up to its exit and what it wrote by then, or what there is now. */
export interface Until {
  readonly exit: Promise<ExitStatus | undefined>;
  /** Offsets at which to end; the exit tells them when absent. */
  readonly stdout?: number;
  readonly stderr?: number;
}

/**
 * Sends the output of a process as frames until its end, as fast as the reader takes it and no faster, which the process
 * feels. A reader that leaves lets go of the output; the process goes on. Gives whether the exit was told.
 */
export async function sendOutput(
  attachment: Attachment,
  sink: FrameSink,
  started: ProcessStarted,
  until: Until,
): Promise<boolean> {
  const { process, taken } = attachment;
  const leave = () => process.leave();
  sink.closed.addEventListener('abort', leave, { once: true });
  // A reader that left before it was listened to.
  if (sink.closed.aborted) leave();
  const keepalive = setInterval(() => sink.frame('stdout', nothing), keepaliveMs);
  try {
    await json(sink, 'started', started);
    const [exit] = await Promise.all([
      until.exit,
      pump(process.stdout, 'stdout', sink, until),
      started.pty ? undefined : pump(process.stderr, 'stderr', sink, until),
    ]);
    if (sink.closed.aborted) return false;
    if (taken.aborted) throw taken.reason;
    if (exit) await json(sink, 'exit', processExit(exit));
    return exit !== undefined;
  } catch (error) {
    if (sink.closed.aborted) return false;
    const told = taken.aborted ? taken.reason : error;
    const problem =
      told instanceof CaissonError ? told : new CaissonError('guest_unreachable', undefined, { cause: told });
    await json(sink, 'problem', toProblem(problem));
    return false;
  } finally {
    clearInterval(keepalive);
    sink.closed.removeEventListener('abort', leave);
    attachment.release();
  }
}

async function pump(output: ProcessOutput, stream: 'stdout' | 'stderr', sink: FrameSink, until: Until): Promise<void> {
  let end = until[stream] ?? Number.POSITIVE_INFINITY;
  const stopAt = (offset: number) => {
    end = Math.min(end, offset);
    if (output.offset >= end) output.stop();
  };
  stopAt(end);
  until.exit.then(
    (exit) => exit && stopAt(stream === 'stdout' ? exit.stdoutBytes : exit.stderrBytes),
    () => output.stop(),
  );
  let lost = 0;
  for await (const chunk of output) {
    if (output.lost > lost) {
      const gap = { stream, bytes: output.lost - lost, at: output.offset - chunk.byteLength };
      lost = output.lost;
      json(sink, 'lost', gap);
    }
    const room = sink.frame(stream, chunk);
    if (room !== undefined) await room;
    if (output.offset >= end) output.stop();
  }
}

function json(
  sink: FrameSink,
  kind: 'started' | 'exit' | 'problem' | 'lost',
  value: unknown,
): Promise<void> | undefined {
  return sink.frame(kind, Buffer.from(JSON.stringify(value)));
}
