import { constants, createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { frame, messagesIn } from './frames.ts';
import { escapeWords, GrpcError, grpcCodes } from './status.ts';

/** What is served, by path: `/package.Service/Method`. A handler that returns has succeeded. */
export type GrpcMethods = Readonly<Record<string, (call: ServedCall) => Promise<void>>>;

/** Serves gRPC on one stream of bytes, which a client at its other end speaks it on. Ends with the stream. */
export function serveGrpc(stream: Duplex, methods: GrpcMethods): { close(): void } {
  const server = createServer();
  server.on('error', () => {});
  server.on('sessionError', () => stream.destroy());
  server.on('stream', (call, fields) => void serve(call, fields, methods));
  server.emit('connection', stream);
  return { close: () => stream.destroy() };
}

/** One call that somebody else made. */
export class ServedCall {
  readonly fields: IncomingHttpHeaders;
  readonly #stream: ServerHttp2Stream;

  constructor(stream: ServerHttp2Stream, fields: IncomingHttpHeaders) {
    this.fields = fields;
    this.#stream = stream;
  }

  /** A field that is sent beside the messages; of several the first. */
  field(name: string): string {
    const value = this.fields[name];
    return (Array.isArray(value) ? value[0] : value) ?? '';
  }

  /** Who has read enough may stop: the call goes on. */
  messages(): AsyncGenerator<Buffer, void, undefined> {
    return messagesIn(this.#stream.iterator({ destroyOnReturn: false }));
  }

  /** The one message of a call that has one. */
  async message(): Promise<Buffer> {
    for await (const one of this.messages()) return one;
    throw new GrpcError(grpcCodes.invalidArgument, 'the call has no message');
  }

  /** Resolves when there is room for more, or nobody listens any more. */
  send(message: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      if (this.#stream.destroyed || this.#stream.writableEnded) resolve();
      else this.#stream.write(frame(message), () => resolve());
    });
  }

  /** No more messages from here; what is still on its way arrives. */
  endSending(): void {
    if (!this.#stream.destroyed) this.#stream.end();
  }

  cancel(): void {
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  /** Resolves when both sides are done with it, or one has given it up. */
  over(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#stream.destroyed || this.#stream.aborted) resolve();
      else this.#stream.once('close', resolve).once('aborted', resolve);
    });
  }
}

async function serve(stream: ServerHttp2Stream, fields: IncomingHttpHeaders, methods: GrpcMethods): Promise<void> {
  stream.on('error', () => {});
  let failure: GrpcError | undefined;
  stream.on('wantTrailers', () => {
    const words = failure ? { 'grpc-message': escapeWords(failure.message) } : {};
    stream.sendTrailers({ 'grpc-status': String(failure?.code ?? grpcCodes.ok), ...words });
  });
  try {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    const method = Object.hasOwn(methods, fields[':path'] ?? '') ? methods[fields[':path'] ?? ''] : undefined;
    if (method === undefined) throw new GrpcError(grpcCodes.unimplemented, 'this session has no such method');
    await method(new ServedCall(stream, fields));
  } catch (error) {
    failure = error instanceof GrpcError ? error : new GrpcError(grpcCodes.internal, (error as Error).message);
  }
  if (!stream.destroyed && !stream.writableEnded) stream.end();
}
