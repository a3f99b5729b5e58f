import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import type { Duplex } from 'node:stream';
import { frame, messagesIn } from './frames.ts';
import { failureIn, GrpcError, grpcCodes } from './status.ts';

/** A machine under load answers a ping in seconds; one that is stopped never does. */
const defaultPatienceMs = 30_000;

/**
 * gRPC over one stream of bytes. Calls of it end with the stream, and the stream ends when the other side is silent for
 * longer than we have patience: it is pinged all the while.
 */
export class GrpcClient {
  readonly #session: ClientHttp2Session;
  readonly #pinging: NodeJS.Timeout;
  #failure: Error | undefined;

  constructor(stream: Duplex, patienceMs = defaultPatienceMs) {
    this.#session = connect('http://buildkit', { createConnection: () => stream });
    // A call that is on its way hears of it for itself.
    this.#session.on('error', (error) => {
      this.#failure ??= error;
    });
    this.#session.on('close', () => clearInterval(this.#pinging));
    this.#pinging = setInterval(() => this.#ping(patienceMs), patienceMs / 4);
    this.#pinging.unref();
  }

  open(path: string, fields: OutgoingHttpHeaders = {}): GrpcCall {
    if (this.#session.closed || this.#session.destroyed)
      throw new GrpcError(grpcCodes.unavailable, this.#failure?.message ?? 'the connection is closed');
    const head = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' };
    return new GrpcCall(this.#session.request({ ...head, ...fields }, { endStream: false }));
  }

  /** One message, one answer. */
  async call(path: string, message: Uint8Array, signal: AbortSignal): Promise<Buffer> {
    signal.throwIfAborted();
    const call = this.open(path);
    const cancel = () => call.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      await call.send(message);
      call.endSending();
      let answer: Buffer | undefined;
      for await (const one of call.messages()) answer = one;
      if (answer === undefined) throw new GrpcError(grpcCodes.internal, 'it answered nothing');
      return answer;
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  /** Why the stream ended before anybody closed it. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  close(): void {
    this.#session.destroy();
  }

  #ping(patienceMs: number): void {
    if (this.#session.destroyed) return;
    const late = setTimeout(() => {
      const error = new Error(`it has been silent for ${patienceMs / 1000} s`);
      this.#failure ??= error;
      this.#session.destroy(error);
    }, patienceMs);
    late.unref();
    // Answers false where too many are on their way, each with a timer of its own.
    if (!this.#session.ping(() => clearTimeout(late))) clearTimeout(late);
  }
}

/** One call, with messages both ways. */
export class GrpcCall {
  readonly #stream: ClientHttp2Stream;
  #end: IncomingHttpHeaders = {};

  constructor(stream: ClientHttp2Stream) {
    this.#stream = stream;
    stream.on('error', () => {});
    // A failure without a message comes in the first fields.
    stream.on('response', (fields) => {
      this.#end = { ...this.#end, ...fields };
    });
    stream.on('trailers', (fields) => {
      this.#end = { ...this.#end, ...fields };
    });
  }

  /** Resolves when there is room for more; what is sent after the end goes nowhere. */
  send(message: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      if (this.#stream.destroyed || this.#stream.writableEnded) resolve();
      else this.#stream.write(frame(message), () => resolve());
    });
  }

  endSending(): void {
    this.#stream.end();
  }

  cancel(): void {
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  /** What comes, until the call ends; throws GrpcError where it failed. */
  async *messages(): AsyncGenerator<Buffer, void, undefined> {
    try {
      yield* messagesIn(this.#stream);
    } catch (error) {
      if (this.#end['grpc-status'] !== undefined) throw failureIn(this.#end) ?? error;
      if (error instanceof RangeError) throw new GrpcError(grpcCodes.internal, error.message);
      throw new GrpcError(grpcCodes.unavailable, (error as Error).message);
    }
    const failure = failureIn(this.#end);
    if (failure) throw failure;
  }
}
