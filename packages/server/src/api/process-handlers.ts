import { isUtf8 } from 'node:buffer';
import {
  byteForms,
  CaissonError,
  type Id,
  newId,
  type ProcessStarted,
  type processRoutes,
  signalNumbers,
} from '@caisson/contract';
import { feed, type GuestClient, type ProcessInfo } from '@caisson/guest';
import type { Attachment } from '../sandbox/attachments.ts';
import { type Command, exec, spawn, withRoom } from '../sandbox/exec.ts';
import type { Access } from '../sandbox/guests.ts';
import { callerName } from '../tenancy/caller.ts';
import type { ApiContext, ByteAnswer, Call, Handlers } from './handler.ts';
import { liveStreams } from './open-streams.ts';
import { howEnded, processRecord } from './process-record.ts';
import { ok } from './sandbox-handlers.ts';
import { sendOutput } from './send-output.ts';

/** A client that got the exit needs the process no more; one whose connection broke just before is back by then. */
const forgetAfterMs = 30_000;

const outputHeaders = { 'content-type': byteForms.output, 'x-accel-buffering': 'no' };

type ProcessCall = Pick<Call<'process.get'>, 'caller' | 'params' | 'shutdown' | 'onEnd'>;

export const processHandlers: Handlers<keyof typeof processRoutes> = {
  'process.exec': async (context, call) => {
    const { guest } = await context.guests.of(call.caller, call.params.id, 'use', call);
    if (call.headers.accept?.includes(byteForms.output)) return execAsStream(context, call, guest);
    const began = performance.now();
    const { body, onLeft } = call;
    const done = await context.spans.run('guest.exec', { sandbox: call.params.id }, () =>
      exec(guest, commandOf(body), inputOf(body), body.maxOutputBytes, onLeft),
    );
    const encoding = isUtf8(done.stdout) && isUtf8(done.stderr) ? 'utf8' : 'base64';
    return ok({
      process: done.id,
      ...howEnded(done),
      stdout: done.stdout.toString(encoding),
      stderr: done.stderr.toString(encoding),
      encoding,
      truncated: done.truncated,
      durationMs: Math.round((performance.now() - began) * 1000) / 1000,
    });
  },

  'process.start': async (context, call) => {
    const { guest } = await context.guests.of(call.caller, call.params.id, 'use', call);
    const { body } = call;
    const { process: id = newId('process'), pty, stdin, tags, outputWhenDetached: whenDetached } = body;
    const options = { ...commandOf(body), id, pty, stdin: stdin || pty !== undefined, tags, whenDetached };
    const { existed } = await withRoom(guest, () => guest.processes.start(options));
    return { status: existed ? 200 : 201, body: processRecord(await infoOf(guest, id)) };
  },

  'process.list': async (context, call) => {
    const { guest } = await context.guests.of(call.caller, call.params.id, 'read', call);
    const found = await guest.processes.list({ tag: call.query.tag }, call.shutdown);
    return ok({ items: found.map(processRecord) });
  },

  'process.get': async (context, call) => {
    const { info } = await find(context, call, 'read');
    return ok(processRecord(info));
  },

  'process.output': async (context, call) => {
    const { guest, info } = await find(context, call, 'read');
    const { stdoutFrom, stderrFrom, follow } = call.query;
    requireWritten(info, stdoutFrom, stderrFrom);
    liveStreams.requireRoom(callerName(call.caller));
    if (!follow && context.attachments.isHeld(guest, info.id)) {
      throw new CaissonError('process_busy', `somebody reads the output of ${info.id}`);
    }
    return outputOf(context, guest, info, { stdout: stdoutFrom, stderr: stderrFrom }, follow);
  },

  'process.stdin': async (context, call) => {
    const { guest, info } = await find(context, call, 'use');
    const { input, release } = context.attachments.input(guest, info.id);
    try {
      for await (const chunk of call.body) await input.write(chunk);
      const stdinBytes = await input.accepted();
      // One round trip behind what was sent: by then a process that takes nothing has said so.
      await guest.ping(call.shutdown);
      if (input.isOver && !input.isIdle) throw new CaissonError('process_ended', `${info.id} takes no stdin`);
      if (call.query.close) await input.end();
      return ok({ stdinBytes });
    } finally {
      release();
    }
  },

  'process.signal': async (context, call) => {
    const { guest, info } = await find(context, call, 'use');
    const { signal } = call.body;
    await guest.processes.signal(info.id, typeof signal === 'number' ? signal : signalNumbers[signal], 'group');
    return ok(processRecord(await infoOf(guest, info.id)));
  },

  'process.resize': async (context, call) => {
    const { guest, info } = await find(context, call, 'use');
    if (!info.pty) throw new CaissonError('request_invalid', `${info.id} has no terminal`);
    await guest.processes.attach(info.id).resize(call.body.rows, call.body.columns);
    return ok(processRecord(await infoOf(guest, info.id)));
  },

  'process.wait': async (context, call) => {
    const { guest, info } = await find(context, call, 'read');
    if (info.exit !== undefined) return ok(processRecord(info));
    const enough = new AbortController();
    const timer = setTimeout(() => enough.abort(), call.body.waitSeconds * 1000);
    call.onLeft(() => enough.abort());
    try {
      await guest.processes.wait(info.id, enough.signal);
    } catch (error) {
      if (!enough.signal.aborted) throw error;
    } finally {
      clearTimeout(timer);
    }
    const now = processRecord(await infoOf(guest, info.id));
    return { status: now.running ? 202 : 200, body: now };
  },

  'process.forget': async (context, call) => {
    const { guest, info } = await find(context, call, 'use');
    if (info.exit === undefined) throw new CaissonError('process_busy', `${info.id} still runs`);
    await guest.request('process.forget', { id: info.id }, { signal: call.shutdown });
    return ok({ forgotten: true });
  },

  'process.attach': async (context, call) => {
    await find(context, call, 'use');
    throw new CaissonError('websocket_needed');
  },
};

/** The process that a request names, in a sandbox that the caller may see or change. */
export async function find(
  { guests }: ApiContext,
  call: ProcessCall,
  access: Access,
): Promise<{ guest: GuestClient; info: ProcessInfo }> {
  const { guest } = await guests.of(call.caller, call.params.id, access, call);
  return { guest, info: await infoOf(guest, call.params.process) };
}

async function infoOf(guest: GuestClient, id: string): Promise<ProcessInfo> {
  const [info] = await guest.processes.list({ id });
  if (info === undefined) throw new CaissonError('process_not_found', `there is no process ${id}`);
  return info;
}

/** Nobody can have got further than the process has written. */
export function requireWritten(info: ProcessInfo, stdout: number, stderr: number): void {
  if (stdout <= info.stdoutBytes && stderr <= info.stderrBytes) return;
  throw new CaissonError(
    'range_invalid',
    `${info.id} has written ${info.stdoutBytes} bytes to stdout and ${info.stderrBytes} to stderr`,
  );
}

export function startedOf(
  info: Pick<ProcessInfo, 'id' | 'pid' | 'pty'>,
  from: { readonly stdout: number; readonly stderr: number },
  stdinAt: number,
): ProcessStarted {
  const { pid, pty } = info;
  return { process: info.id as Id<'process'>, pid, pty, stdoutFrom: from.stdout, stderrFrom: from.stderr, stdinAt };
}

async function execAsStream(context: ApiContext, call: Call<'process.exec'>, guest: GuestClient): Promise<ByteAnswer> {
  liveStreams.requireRoom(callerName(call.caller));
  const input = inputOf(call.body);
  const process = await spawn(guest, { ...commandOf(call.body), stdin: input !== undefined });
  const attachment = context.attachments.hold(guest, process);
  // However the answer ends, also before it has begun.
  call.onEnd(() => attachment.release());
  const info = { id: process.id, pid: process.pid ?? 0, pty: false };
  return {
    status: 200,
    headers: { ...outputHeaders, 'x-caisson-process': process.id },
    isLive: true,
    async send(sink) {
      // A process that will not read all of its input still has its output to tell.
      if (input !== undefined) void feed(process, input);
      const exit = process.wait();
      const isTold = await sendOutput(attachment, sink, startedOf(info, { stdout: 0, stderr: 0 }, 0), { exit });
      if (isTold) forgetLater(guest, process.id);
    },
  };
}

function outputOf(
  context: ApiContext,
  guest: GuestClient,
  info: ProcessInfo,
  from: { readonly stdout: number; readonly stderr: number },
  follow: boolean,
): ByteAnswer {
  const { stdoutBytes: stdout, stderrBytes: stderr } = info;
  return {
    status: 200,
    headers: outputHeaders,
    isLive: true,
    async send(sink) {
      const attachment: Attachment = context.attachments.take(guest, info.id, from);
      const until = follow
        ? { exit: guest.processes.wait(info.id, AbortSignal.any([sink.closed, attachment.taken])) }
        : { exit: Promise.resolve(info.exit), stdout, stderr };
      await sendOutput(attachment, sink, startedOf(info, from, info.stdinBytes), until);
    },
  };
}

function forgetLater(guest: GuestClient, id: string): void {
  setTimeout(() => void guest.request('process.forget', { id }).catch(() => {}), forgetAfterMs).unref();
}

interface CommandBody {
  readonly command: string | readonly string[];
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  readonly user?: string | undefined;
  readonly timeoutSeconds?: number | undefined;
}

function commandOf({ command, env, cwd, user, timeoutSeconds }: CommandBody): Command {
  const argv = typeof command === 'string' ? ['/bin/sh', '-c', command] : command;
  const timeoutMs = timeoutSeconds === undefined ? undefined : Math.ceil(timeoutSeconds * 1000);
  return { argv, env, cwd, user, timeoutMs };
}

function inputOf(body: { stdin?: string | undefined; stdinBase64?: string | undefined }): Buffer | undefined {
  if (body.stdin !== undefined && body.stdinBase64 !== undefined) {
    throw new CaissonError('request_invalid', 'give `stdin` or `stdinBase64`, not both');
  }
  if (body.stdin !== undefined) return Buffer.from(body.stdin);
  return body.stdinBase64 === undefined ? undefined : Buffer.from(body.stdinBase64, 'base64');
}
