import type { GrpcClient } from './grpc/client.ts';
import { Message, mapFields, writeMessage } from './grpc/protobuf.ts';

export interface SolveRequest {
  /** A name of the build that nobody else uses; by it its progress is asked for. */
  readonly ref: string;
  readonly session: string;
  readonly exporter: string;
  readonly exporterAttributes: Readonly<Record<string, string>>;
  /** What the reader of Containerfiles is told. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** A part of a build, as it is known so far. Each message of progress has some of them, whole. */
export interface Vertex {
  readonly digest: string;
  readonly name: string;
  readonly isCached: boolean;
  readonly started: number | undefined;
  readonly completed: number | undefined;
  readonly error: string;
}

export interface Progress {
  readonly vertices: readonly Vertex[];
  readonly logs: readonly { readonly vertex: string; readonly bytes: Buffer }[];
}

const service = '/moby.buildkit.v1.Control';

/** Runs a build; resolves with what the exporter says of its result. An abort cancels it there. */
export async function solve(
  client: GrpcClient,
  request: SolveRequest,
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const message = writeMessage(
    [1, request.ref],
    [3, request.exporter],
    ...mapFields(4, request.exporterAttributes),
    [5, request.session],
    [6, 'dockerfile.v0'],
    ...mapFields(7, request.attributes),
    [8, writeMessage()],
  );
  return new Message(await client.call(`${service}/Solve`, message, signal)).map(1);
}

/** What happens in a build, until it is over. */
export async function* progressOf(client: GrpcClient, ref: string): AsyncGenerator<Progress, void, undefined> {
  const call = client.open(`${service}/Status`);
  try {
    await call.send(writeMessage([1, ref]));
    call.endSending();
    for await (const bytes of call.messages()) {
      const message = new Message(bytes);
      yield {
        vertices: message.messages(1).map(readVertex),
        logs: message.messages(3).map((log) => ({ vertex: log.string(1), bytes: log.bytes(4) })),
      };
    }
  } finally {
    call.cancel();
  }
}

/** What builds there: its names and labels. */
export async function workers(client: GrpcClient, signal: AbortSignal): Promise<Map<string, string>[]> {
  const answer = await client.call(`${service}/ListWorkers`, writeMessage(), signal);
  return new Message(answer).messages(1).map((worker) => worker.map(2));
}

function readVertex(message: Message): Vertex {
  return {
    digest: message.string(1),
    name: message.string(3),
    isCached: message.uint(4) !== 0,
    started: timeOf(message.message(5)),
    completed: timeOf(message.message(6)),
    error: message.string(7),
  };
}

/** In milliseconds. */
function timeOf(time: Message | undefined): number | undefined {
  return time && time.uint(1) * 1000 + time.uint(2) / 1e6;
}
