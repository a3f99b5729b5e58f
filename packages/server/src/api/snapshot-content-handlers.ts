import { byteForms, type snapshotContentRoutes } from '@caisson/contract';
import { callerName } from '../tenancy/caller.ts';
import type { Handlers } from './handler.ts';
import { liveStreams } from './open-streams.ts';
import { ok } from './sandbox-handlers.ts';

/** Ends what is done for a client that has left. */
function whileThere(call: { readonly onLeft: (leave: () => void) => void }): AbortSignal {
  const left = new AbortController();
  call.onLeft(() => left.abort());
  return left.signal;
}

export const snapshotContentHandlers: Handlers<keyof typeof snapshotContentRoutes> = {
  'snapshot.diff': async ({ diffs }, call) => {
    const { to, ...request } = call.query;
    return ok(await diffs.diff(call.caller, call.params.id, to, request, whileThere(call)));
  },

  'snapshot.diff.file': async ({ diffs }, call) => {
    const { to, path } = call.query;
    return ok(await diffs.file(call.caller, call.params.id, to, path, whileThere(call)));
  },

  'snapshot.export': async ({ archives }, call) => {
    liveStreams.requireRoom(callerName(call.caller));
    const signal = whileThere(call);
    const exported = await archives.export(call.caller, call.params.id, call.query.thin, signal);
    // However the answer ends, also before it has begun.
    call.onEnd(() => void exported.close());
    return {
      status: 200,
      headers: {
        'content-type': byteForms.tar,
        'content-length': String(exported.size),
        'content-disposition': `attachment; filename="${exported.fileName}"`,
      },
      isLive: true,
      async send(sink) {
        try {
          for await (const chunk of exported.write(sink.closed)) {
            await sink.write(chunk);
            if (sink.closed.aborted) break;
          }
        } finally {
          await exported.close();
        }
      },
    };
  },

  'snapshot.import': async ({ archives }, call) => {
    const { label, ...request } = call.query;
    const imported = { ...request, labels: label };
    return { status: 201, body: await archives.import(call.caller, call.body, imported, whileThere(call)) };
  },
};
