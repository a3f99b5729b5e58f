import { byteForms, CaissonError, type fileRoutes, type GrepMatch } from '@caisson/contract';
import type { Entry, GuestClient } from '@caisson/guest';
import { editFile } from '../sandbox/edit-file.ts';
import type { Access } from '../sandbox/guests.ts';
import { callerName } from '../tenancy/caller.ts';
import { byteRange } from './byte-range.ts';
import type { ByteSink } from './byte-sink.ts';
import { entityTag, fileEntry, grepMatch, watchBatch } from './file-entry.ts';
import type { ApiContext, ByteAnswer, Call, Handlers } from './handler.ts';
import { liveStreams } from './open-streams.ts';
import { ok } from './sandbox-handlers.ts';

/** A grep's answer is held in memory; lines and what is around them can be long. */
const maxGrepChars = 16 * 1024 * 1024;
/** Proxies close what is silent for a minute. */
const keepaliveMs = 15_000;

type FileCall = Pick<Call<'file.stat'>, 'caller' | 'params' | 'shutdown' | 'onEnd'>;

async function guestOf({ guests }: ApiContext, call: FileCall, access: Access): Promise<GuestClient> {
  return (await guests.of(call.caller, call.params.id, access, call)).guest;
}

const done = { done: true } as const;

export const fileHandlers: Handlers<keyof typeof fileRoutes> = {
  'file.read': async (context, call) => {
    const guest = await guestOf(context, call, 'read');
    const { path, user } = call.query;
    const entry = await guest.files.stat(path, { user });
    if (entry.kind === 'directory') {
      throw new CaissonError('file_invalid', `${path} is a folder`, { context: { path } });
    }
    return contentOf(guest, call, entry);
  },

  'file.write': async (context, call) => {
    const guest = await guestOf(context, call, 'use');
    const { path, user, mode, parents, create } = call.query;
    const how = create ? 'create' : 'replace';
    return ok(fileEntry(await guest.files.write(path, call.body, { user, mode, parents, how })));
  },

  'file.stat': async (context, call) => {
    const guest = await guestOf(context, call, 'read');
    const { path, user, follow } = call.query;
    return ok(fileEntry(await guest.files.stat(path, { user, follow })));
  },

  'file.list': async (context, call) => {
    const guest = await guestOf(context, call, 'read');
    const { path, user, depth, limit } = call.query;
    return ok(shown(await guest.files.list(path, { user, depth, maxEntries: limit, signal: call.shutdown })));
  },

  'file.mkdir': async (context, call) => {
    const guest = await guestOf(context, call, 'use');
    const { path, user, parents, mode } = call.body;
    return ok({
      created: await guest.files.mkdir(path, { user, parents, ...(mode === undefined ? {} : { mode }) }),
    });
  },

  'file.move': async (context, call) => {
    const guest = await guestOf(context, call, 'use');
    const { from, to, user, replace } = call.body;
    return ok(fileEntry(await guest.files.move(from, to, { user, replace })));
  },

  'file.remove': async (context, call) => {
    const guest = await guestOf(context, call, 'use');
    const { path, user, recursive, missingOk } = call.body;
    await guest.files.remove(path, { user, recursive, missingOk });
    return ok(done);
  },

  'file.symlink': async (context, call) => {
    const guest = await guestOf(context, call, 'use');
    const { path, target, user, replace } = call.body;
    await guest.files.symlink(path, target, { user, replace });
    return ok(done);
  },

  'file.chmod': async (context, call) => {
    const guest = await guestOf(context, call, 'use');
    const { path, user, mode, recursive } = call.body;
    await guest.files.chmod(path, mode, { user, recursive });
    return ok(done);
  },

  'file.edit': async (context, call) => {
    const guest = await guestOf(context, call, 'use');
    const { path, user, edits } = call.body;
    const { entry, replaced } = await editFile(guest, path, edits, user);
    return ok({ ...fileEntry(entry), replaced });
  },

  'file.grep': async (context, call) => {
    const guest = await guestOf(context, call, 'read');
    const { path, pattern, limit, ...options } = call.body;
    const left = new AbortController();
    call.onLeft(() => left.abort());
    const found = guest.files.grep(path, pattern, { ...options, maxMatches: limit, signal: left.signal });
    const matches: GrepMatch[] = [];
    let chars = 0;
    for (;;) {
      const { done: isOver, value } = await found.next();
      if (isOver) return ok({ ...value, matches });
      matches.push(grepMatch(value));
      chars += value.text.length + [...value.before, ...value.after].reduce((sum, line) => sum + line.length, 0);
      if (chars > maxGrepChars) {
        await found.return(undefined as never);
        return ok({ matches, filesSearched: 0, filesSkipped: 0, truncated: true });
      }
    }
  },

  'file.glob': async (context, call) => {
    const guest = await guestOf(context, call, 'read');
    const { path, pattern, limit, ...options } = call.body;
    return ok(shown(await guest.files.glob(path, pattern, { ...options, maxEntries: limit, signal: call.shutdown })));
  },

  'file.tree.read': async (context, call) => {
    const guest = await guestOf(context, call, 'read');
    const { path, user } = call.query;
    const headers = { 'content-type': byteForms.tar };
    return streamed(call, 200, headers, (signal) => guest.files.tarOut(path, { user, signal }));
  },

  'file.tree.write': async (context, call) => {
    const guest = await guestOf(context, call, 'use');
    const { path, user, keepOwner } = call.query;
    const { entries, bytes } = await guest.files.tarIn(path, call.body, { user, keepOwner });
    return ok({ entries, bytes });
  },

  'file.watch': async (context, call) => {
    const guest = await guestOf(context, call, 'read');
    liveStreams.requireRoom(callerName(call.caller));
    const { path, user, recursive } = call.query;
    const watch = await guest.files.watch(path, { user, recursive });
    // However the answer ends, also before it has begun.
    call.onEnd(() => watch.close());
    return {
      status: 200,
      headers: { 'content-type': byteForms.events, 'x-accel-buffering': 'no' },
      isLive: true,
      async send(sink) {
        sink.closed.addEventListener('abort', () => watch.close(), { once: true });
        if (sink.closed.aborted) watch.close();
        sink.write('event: watching\ndata: {"events":[],"overflow":false}\n\n');
        const keepalive = setInterval(() => sink.write(': still here\n\n'), keepaliveMs);
        try {
          for await (const batch of watch) {
            await sink.write(`event: changes\ndata: ${JSON.stringify(watchBatch(batch))}\n\n`);
          }
        } finally {
          clearInterval(keepalive);
        }
      },
    };
  },

  'sandbox.stats': async ({ guests }, call) => ok(await guests.stats(call.caller, call.params.id, call.shutdown)),
};

function shown({ entries, truncated }: { entries: readonly Entry[]; truncated: boolean }) {
  return { entries: entries.map(fileEntry), truncated };
}

/** What the file was when it was looked at: a file that grows meanwhile is cut there, one that shrinks breaks off. */
async function contentOf(guest: GuestClient, call: Call<'file.read'>, entry: Entry): Promise<ByteAnswer> {
  const { path, user } = call.query;
  const etag = entityTag(entry);
  const headers = { 'content-type': byteForms.bytes, 'accept-ranges': 'bytes', etag };
  if (call.headers['if-none-match'] === etag) return { status: 304, headers, send: async () => {} };
  // Files of the kernel say that they are empty and are not.
  if (entry.size === 0) return streamed(call, 200, headers, (signal) => guest.files.read(path, { user, signal }));
  const isSame = call.headers['if-range'] === undefined || call.headers['if-range'] === etag;
  const range = isSame ? byteRange(call.headers.range, entry.size) : undefined;
  const { first, length } = range ?? { first: 0, length: entry.size };
  const part = range ? { 'content-range': `bytes ${first}-${first + length - 1}/${entry.size}` } : {};
  return streamed(call, range ? 206 : 200, { ...headers, ...part, 'content-length': String(length) }, (signal) =>
    guest.files.read(path, { user, offset: first, length, signal }),
  );
}

/** Begins to read before it answers: what cannot be read is told as a problem and not as a broken answer. */
async function streamed(
  call: Pick<Call<'file.read'>, 'onLeft'>,
  status: number,
  headers: Record<string, string>,
  read: (signal: AbortSignal) => AsyncGenerator<Uint8Array>,
): Promise<ByteAnswer> {
  const left = new AbortController();
  call.onLeft(() => left.abort());
  const source = read(left.signal);
  const first = await source.next();
  return {
    status,
    headers,
    async send(sink) {
      sink.closed.addEventListener('abort', () => left.abort(), { once: true });
      const sent = first.done ? 0 : await pour(first.value, source, sink);
      const { 'content-length': promised } = headers;
      // A client would take the next answer for the rest of this one.
      if (promised !== undefined && sent !== Number(promised)) {
        throw new CaissonError('state_changed', 'the file became shorter while it was read');
      }
    },
  };
}

/** Gives how many bytes there were. */
async function pour(first: Uint8Array, rest: AsyncGenerator<Uint8Array>, sink: ByteSink): Promise<number> {
  let sent = first.byteLength;
  await sink.write(first);
  for await (const chunk of rest) {
    sent += chunk.byteLength;
    const room = sink.write(chunk);
    if (room !== undefined) await room;
    if (sink.closed.aborted) break;
  }
  return sent;
}
