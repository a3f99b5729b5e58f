import { byteForms } from '@caisson/contract';
import { callerName } from '../tenancy/caller.ts';
import type { ByteAnswer, Call } from './handler.ts';
import { liveStreams } from './open-streams.ts';

/** What is read from the store at once; the reader sets the pace. */
const pageSize = 500;

/** A log as lines of JSON, oldest first, to the end that it had when it was asked for. */
export async function linesAnswer(
  call: Pick<Call<'audit.export'>, 'caller'>,
  fileName: string,
  read: (after: number, limit: number) => Promise<{ readonly position: number }[]>,
): Promise<ByteAnswer> {
  liveStreams.requireRoom(callerName(call.caller));
  // What can be refused is refused before the answer begins.
  const first = await read(0, pageSize);
  return {
    status: 200,
    headers: { 'content-type': byteForms.lines, 'content-disposition': `attachment; filename="${fileName}"` },
    isLive: true,
    async send(sink) {
      let page = first;
      const began = Date.now();
      while (page.length > 0 && !sink.closed.aborted) {
        await sink.write(`${page.map((item) => JSON.stringify(item)).join('\n')}\n`);
        const last = page.at(-1) as { position: number; time?: string; to?: string };
        if (page.length < pageSize || Date.parse(last.time ?? last.to ?? '') > began) return;
        page = await read(last.position, pageSize);
      }
    },
  };
}
