import type { IncomingMessage, ServerResponse } from 'node:http';
import { CaissonError } from '@caisson/contract';
import type { LiveVisit } from './live-visits.ts';
import type { ConnectionUser, PortConnection } from './port-connection.ts';
import type { PreviewTarget } from './preview-address.ts';
import { type RequestFacts, requestHead } from './request-head.ts';
import { responseFields } from './response-head.ts';

/** A request as it is passed on; the connection adds its own framing. */
export type ExchangeFacts = Omit<RequestFacts, 'body' | 'upgrade'> & { readonly target: PreviewTarget };

export interface ExchangeEnd {
  /** It is over; the connection is given back, or it is destroyed already. */
  over(connection: PortConnection | undefined): void;
  /** The port closed a connection that it had kept: nothing of the request has been seen. */
  again(): void;
  /** Nothing has been answered yet. */
  refuse(error: unknown): void;
}

/** A client may pause for this long in the middle of a body, and must send at least so much over time. */
const bodyIdleMs = 30_000;
const bodyGraceMs = 30_000;
const bodyBytesPerSecond = 128;
/** How long a port may think before it answers; nothing in front of it waits for longer. */
const answerMs = 600_000;
/** How long a client may leave what was sent to it unread. */
const unreadMs = 120_000;
/** How long a stream of events may be silent. */
const silentMs = 3_600_000;
/** Smaller chunks are copied into one write: a write costs more than the copy. */
const joinBytes = 16_384;

/** One request of a client, to a port and back. */
export class Exchange implements ConnectionUser, LiveVisit {
  readonly sandbox: string;
  readonly port: number;
  readonly address: string;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #facts: ExchangeFacts;
  readonly #end: ExchangeEnd;
  readonly #body: RequestFacts['body'];
  #connection: PortConnection | undefined;
  #isSent = false;
  #hasHead = false;
  #hasData = false;
  #isOver = false;
  #isDraining = false;
  #begunAt = performance.now();
  #progressAt = this.#begunAt;
  #heldMs = 0;
  #heldSince = 0;
  #received = 0;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    facts: ExchangeFacts,
    address: string,
    end: ExchangeEnd,
  ) {
    this.#request = request;
    this.#response = response;
    this.#facts = facts;
    this.#end = end;
    this.address = address;
    this.sandbox = facts.target.sandbox;
    this.port = facts.target.port;
    this.#body = bodyOf(request);
    this.#isSent = this.#body === 'none' || (this.#body !== 'chunked' && this.#body.length === '0');
    response.on('close', this.#left);
    request.on('error', ignore);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether asking twice does no harm. */
  get mayRepeat(): boolean {
    const { method } = this.#facts;
    return this.#body === 'none' && (method === 'GET' || method === 'HEAD' || method === 'OPTIONS');
  }

  run(connection: PortConnection): void {
    this.#connection = connection;
    connection.use(this, this.#facts.method);
    connection.stream.write(requestHead({ ...this.#facts, body: this.#body }), 'latin1');
    if (this.#isSent) return;
    if (this.#request.headers.expect !== undefined) this.#response.writeContinue();
    this.#pump(connection);
  }

  head(status: number, reason: string, fields: string[], length: number | undefined): void {
    this.#hasHead = true;
    this.#progressAt = performance.now();
    const kept = responseFields({ target: this.#facts.target, host: this.#facts.host, fields });
    if (length !== undefined && status !== 204) kept.push('content-length', String(length));
    // What is not read to its end cannot be followed by another request.
    if (!this.#isSent && !this.#request.complete) kept.push('connection', 'close');
    this.#response.writeHead(status, reason, kept);
  }

  data(bytes: Buffer, isLast: boolean): void {
    this.#hasData = true;
    if (isLast) {
      this.#response.end(bytes);
      this.#finish();
      return;
    }
    if (this.#response.write(bytes) || this.#isDraining) return;
    this.#isDraining = true;
    this.#progressAt = performance.now();
    this.#connection?.stream.pause();
    this.#response.once('drain', () => {
      this.#isDraining = false;
      this.#progressAt = performance.now();
      this.#connection?.stream.resume();
    });
  }

  end(): void {
    this.#response.end();
    this.#finish();
  }

  caughtUp(): void {
    this.#progressAt = performance.now();
    if (this.#isOver) {
      const connection = this.#connection;
      this.#connection = undefined;
      connection?.release();
      // The end may have come in the same piece as what the client has yet to read: the next one waits for nobody.
      connection?.stream.resume();
      // A request that was not sent to its end leaves the connection in the middle of it.
      if (!this.#isSent) connection?.destroy();
      this.#end.over(this.#isSent ? connection : undefined);
    } else if (this.#hasHead && !this.#hasData) this.#response.flushHeaders();
  }

  failed(error: Error, untouched: boolean): void {
    if (this.#isOver) {
      this.#connection = undefined;
      return void this.#end.over(undefined);
    }
    const wasKept = (this.#connection?.uses ?? 0) > 1;
    this.#connection?.destroy();
    this.#connection = undefined;
    if (untouched && wasKept && this.mayRepeat) return void this.#end.again();
    this.#abort(error);
  }

  cut(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#response.destroy();
    this.#drop();
  }

  look(now: number): void {
    if (this.#isOver || this.#connection === undefined) return;
    const still = now - this.#progressAt;
    if (!this.#isSent && this.#heldSince === 0 && !this.#hasHead) {
      const waitedMs = now - this.#begunAt - this.#heldMs - bodyGraceMs;
      if (still > bodyIdleMs || this.#received < (waitedMs / 1000) * bodyBytesPerSecond)
        this.#abort(new CaissonError('request_timeout', 'the body of the request comes too slowly'));
      return;
    }
    if (this.#isDraining ? still > unreadMs : still > (this.#hasHead ? silentMs : answerMs))
      this.#abort(new CaissonError('request_timeout', 'the port did not answer in time'));
  }

  /** Nothing more of the answer comes: the client learns it by a broken connection, or by the reason where it can. */
  #abort(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#hasHead) this.#response.destroy();
    else this.#end.refuse(error);
    this.#drop();
  }

  #finish(): void {
    this.#isOver = true;
    this.#response.off('close', this.#left);
  }

  readonly #left = (): void => {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#drop();
  };

  #drop(): void {
    this.#response.off('close', this.#left);
    this.#connection?.destroy();
    this.#connection = undefined;
    this.#end.over(undefined);
  }

  #pump({ stream }: PortConnection): void {
    const request = this.#request;
    const isChunked = this.#body === 'chunked';
    const held = () => {
      this.#heldSince = performance.now();
      request.pause();
      stream.once('drain', () => {
        const now = performance.now();
        this.#heldMs += now - this.#heldSince;
        this.#heldSince = 0;
        this.#progressAt = now;
        request.resume();
      });
    };
    request.on('data', (bytes: Buffer) => {
      this.#received += bytes.length;
      this.#progressAt = performance.now();
      if (stream.destroyed) return;
      if (!(isChunked ? writeChunk(stream, bytes) : stream.write(bytes))) held();
    });
    request.on('end', () => {
      if (isChunked && !stream.destroyed) stream.write('0\r\n\r\n');
      this.#isSent = true;
      this.#progressAt = performance.now();
    });
  }
}

function writeChunk(stream: NodeJS.WritableStream, bytes: Buffer): boolean {
  const size = Buffer.from(`${bytes.length.toString(16)}\r\n`);
  if (bytes.length <= joinBytes) return stream.write(Buffer.concat([size, bytes, crlf]));
  stream.write(size);
  stream.write(bytes);
  return stream.write(crlf);
}

const crlf = Buffer.from('\r\n');

export function bodyOf(request: Pick<IncomingMessage, 'headers'>): RequestFacts['body'] {
  if (request.headers['transfer-encoding'] !== undefined) return 'chunked';
  const length = request.headers['content-length'];
  return length === undefined ? 'none' : { length };
}

function ignore(): void {}
