import { ackSchema, CaissonError, parseOrThrow, ptySchema, signalNumbers, signalSchema } from '@caisson/contract';
import type { ProcessHandle } from '@caisson/guest';
import { z } from 'zod';
import type { AttachedSocket, TakeMessage } from './attached-socket.ts';
import type { SocketHandler } from './handler.ts';
import { find, requireWritten, startedOf } from './process-handlers.ts';
import { sendOutput } from './send-output.ts';

const signalMessage = z.strictObject({ signal: signalSchema });

export const attachProcess: SocketHandler<'process.attach'> = async (context, call) => {
  const { guest, info } = await find(context, call, 'use');
  const { stdoutFrom, stderrFrom, acks } = call.query;
  requireWritten(info, stdoutFrom, stderrFrom);
  const from = { stdout: stdoutFrom, stderr: stderrFrom };
  const attach = async (socket: AttachedSocket) => {
    const attachment = context.attachments.take(guest, info.id, from);
    const { process } = attachment;
    process.stdout.isConfirmed = acks;
    process.stderr.isConfirmed = acks;
    const { input, release } = context.attachments.input(guest, info.id);
    const stopTyping = new AbortController();
    const acked = { ...from };
    const take: TakeMessage = async (kind, bytes) => {
      if (kind === 'stdin') {
        await until(stopTyping.signal, input.write(bytes));
        if (acks) await socket.frame('stdin', Buffer.from(JSON.stringify({ at: await input.accepted() })));
      } else if (kind === 'end') await until(stopTyping.signal, input.end());
      else if (kind === 'resize') await resize(process, bytes);
      else if (kind === 'signal') await signal(process, bytes);
      else acknowledge(process, acked, bytes);
    };
    try {
      const stdinAt = info.exit === undefined ? await input.accepted() : info.stdinBytes;
      socket.closed.addEventListener('abort', () => stopTyping.abort(), { once: true });
      socket.onMessage((kind, bytes) => take(kind, bytes).catch(orEnded));
      const exit = guest.processes.wait(info.id, AbortSignal.any([socket.closed, attachment.taken]));
      await sendOutput(attachment, socket, startedOf(info, from, stdinAt), { exit });
    } finally {
      stopTyping.abort();
      attachment.release();
      release();
      socket.close();
    }
  };
  return { kind: 'frames', take: attach };
};

/** A process that does not read must not hold a socket that is over; what was accepted goes on without it. */
function until(over: AbortSignal, work: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => resolve();
    over.addEventListener('abort', leave, { once: true });
    work.then(resolve, reject).finally(() => over.removeEventListener('abort', leave));
  });
}

/** What comes after its end is too late, and nobody's fault. */
function orEnded(error: unknown): void {
  if (error instanceof CaissonError && (error.code === 'process_ended' || error.code === 'process_not_found')) return;
  throw error;
}

async function resize(process: ProcessHandle, bytes: Buffer): Promise<void> {
  const { rows, columns } = read(ptySchema, bytes);
  await process.resize(rows, columns);
}

async function signal(process: ProcessHandle, bytes: Buffer): Promise<void> {
  const { signal: wanted } = read(signalMessage, bytes);
  await process.signal(typeof wanted === 'number' ? wanted : signalNumbers[wanted]);
}

/** Nobody can have got what was not sent: a client that says so gets no more credit for it. */
function acknowledge(process: ProcessHandle, acked: { stdout: number; stderr: number }, bytes: Buffer): void {
  const now = read(ackSchema, bytes);
  for (const stream of ['stdout', 'stderr'] as const) {
    const arrived = Math.min(now[stream], process[stream].offset);
    if (arrived <= acked[stream]) continue;
    process[stream].seen(arrived - acked[stream]);
    acked[stream] = arrived;
  }
}

function read<T extends z.ZodType>(schema: T, bytes: Buffer): z.output<T> {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw new CaissonError('request_invalid', 'the message is not JSON', { cause });
  }
  return parseOrThrow(schema, value, 'request_invalid', 'the message');
}
