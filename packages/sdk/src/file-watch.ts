import { CaissonError, type WatchBatch } from '@caisson/contract';
import type { Connection } from './connection.ts';
import type { FileOptions } from './files.ts';
import { piecesOf } from './raw-call.ts';
import { Reconnect } from './reconnect.ts';
import { SseParser } from './sse-parser.ts';

/** The server sends something every 15 s at least. */
const idleMs = 60_000;

/** Changes as they happen. What happened while the connection was broken is unknown: an `overflow` says so. */
export async function* watchFiles(
  connection: Connection,
  sandbox: string,
  path: string,
  options: FileOptions & { readonly recursive?: boolean; readonly reconnectSeconds?: number },
): AsyncGenerator<WatchBatch, void, undefined> {
  const { signal, user, recursive, reconnectSeconds } = options;
  const reconnect = new Reconnect(reconnectSeconds, signal);
  let isFirst = true;
  for (;;) {
    reconnect.begin();
    try {
      const query = { path, user, recursive };
      const response = await connection.open('file.watch', { params: { id: sandbox }, query, signal });
      const parser = new SseParser();
      for await (const bytes of piecesOf(response, idleMs)) {
        reconnect.alive();
        for (const { type, data } of parser.push(bytes)) {
          const batch = JSON.parse(data) as WatchBatch;
          yield type === 'watching' ? { ...batch, overflow: !isFirst } : batch;
          isFirst = false;
        }
      }
      throw new CaissonError('server_unreachable', 'the watch broke off');
    } catch (cause) {
      await reconnect.after(connection.transport.failure(cause, signal));
    }
  }
}
