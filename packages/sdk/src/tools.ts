import {
  byteForms,
  CaissonError,
  fromProblem,
  newId,
  type RunTool,
  type ToolAnswer,
  type ToolInput,
  type ToolName,
  type ToolProgress,
} from '@caisson/contract';
import type { Connection } from './connection.ts';
import type { StreamOptions } from './output-stream.ts';
import { piecesOf } from './raw-call.ts';
import { endsOfProcesses, Reconnect } from './reconnect.ts';
import { type SseEvent, SseParser } from './sse-parser.ts';

export type RunToolOptions = Omit<Partial<RunTool>, 'tool' | 'params'> &
  StreamOptions & {
    /** What its program writes while it runs; some of it may be missed, the answer never is. */
    readonly onProgress?: ((progress: ToolProgress) => void) | undefined;
  };

/** The server sends something every 15 s at least. */
const idleMs = 60_000;

/** Tools of one sandbox. */
export class Tools {
  readonly #connection: Connection;
  readonly #sandbox: string;

  constructor(connection: Connection, sandbox: string) {
    this.#connection = connection;
    this.#sandbox = sandbox;
  }

  /**
   * Runs a tool to its end. A connection that breaks is opened again with the same call id, which runs nothing twice. A
   * tool that could not do its work has an answer too: see its `exitCode` and `error`.
   */
  async run<N extends ToolName>(tool: N, params: ToolInput<N>, options: RunToolOptions = {}): Promise<ToolAnswer> {
    const { signal, reconnectSeconds, onProgress, callId = newId('request'), ...rest } = options;
    const call = {
      params: { id: this.#sandbox },
      body: { ...rest, tool, callId, params },
      headers: { accept: byteForms.events },
      signal,
    };
    const reconnect = new Reconnect(reconnectSeconds, signal, endsOfProcesses);
    for (;;) {
      reconnect.begin();
      try {
        const response = await this.#connection.open('tool.run', call);
        const parser = new SseParser();
        for await (const bytes of piecesOf(response, idleMs)) {
          reconnect.alive();
          for (const event of parser.push(bytes)) {
            const answer = readEvent(event, onProgress);
            if (answer) return answer;
          }
        }
        throw new CaissonError('server_unreachable', 'the stream of the tool broke off');
      } catch (cause) {
        await reconnect.after(this.#connection.transport.failure(cause, signal));
      }
    }
  }
}

function readEvent({ type, data }: SseEvent, onProgress: RunToolOptions['onProgress']): ToolAnswer | undefined {
  const value: unknown = JSON.parse(data);
  if (type === 'problem') throw fromProblem(value, 500);
  if (type === 'answer') return value as ToolAnswer;
  if (type === 'progress') onProgress?.(value as ToolProgress);
  return undefined;
}
