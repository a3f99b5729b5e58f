import { CaissonError, OutputFrameReader, type ProcessExit } from '@caisson/contract';
import type { Connection } from './connection.ts';
import type { OutputChunk, OutputCursor } from './output-cursor.ts';
import { piecesOf } from './raw-call.ts';
import { endsOfProcesses, Reconnect } from './reconnect.ts';
import type { FetchAnswer } from './transport.ts';

/** The server sends something every 15 s at least; a connection that is silent for longer is dead without saying so. */
const idleMs = 60_000;

export interface StreamOptions {
  readonly signal?: AbortSignal | undefined;
  /** How long the server may be away before the reading gives up. */
  readonly reconnectSeconds?: number | undefined;
}

export const cutOff = () => new CaissonError('server_unreachable', 'the stream of output broke off');

/**
 * The output of a process over requests: from the first answer, when there is one, and from the offsets that the cursor
 * has come to whenever the connection breaks. Ends with the exit of the process.
 */
export async function* followOutput(
  connection: Connection,
  sandbox: string,
  cursor: OutputCursor,
  options: StreamOptions & { readonly process?: string; readonly first?: FetchAnswer },
): AsyncGenerator<OutputChunk, ProcessExit, undefined> {
  const { signal } = options;
  const reconnect = new Reconnect(options.reconnectSeconds, signal, endsOfProcesses);
  let { first } = options;
  for (;;) {
    reconnect.begin();
    try {
      const response = first ?? (await openOutput(connection, sandbox, cursor, options));
      first = undefined;
      const reader = new OutputFrameReader();
      for await (const bytes of piecesOf(response, idleMs)) {
        reconnect.alive();
        for (const frame of reader.push(bytes)) {
          const chunk = cursor.take(frame);
          if (chunk !== undefined) yield chunk;
        }
      }
      if (cursor.exit !== undefined) return cursor.exit;
      throw cutOff();
    } catch (cause) {
      first = undefined;
      if (cursor.exit !== undefined) return cursor.exit;
      const error = connection.transport.failure(cause, signal);
      // Without the id of the process there is nothing to go on from.
      if ((cursor.started?.process ?? options.process) === undefined) throw error;
      await reconnect.after(error);
    }
  }
}

function openOutput(
  connection: Connection,
  sandbox: string,
  cursor: OutputCursor,
  options: { readonly process?: string; readonly signal?: AbortSignal | undefined },
): Promise<FetchAnswer> {
  const process = cursor.started?.process ?? options.process ?? '';
  const query = { stdoutFrom: cursor.stdout, stderrFrom: cursor.stderr };
  return connection.open('process.output', { params: { id: sandbox, process }, query, signal: options.signal });
}
