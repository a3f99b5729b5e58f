import { CaissonError } from '@caisson/contract';

/** What is told of an answer as it comes. */
export interface AnswerSink {
  /** `length`: of its body; undefined where its end is told otherwise. */
  head(status: number, reason: string, fields: string[], length: number | undefined): void;
  data(bytes: Buffer, isLast: boolean): void;
  /** All of it has come. Not told after a `data` that was the last. */
  end(): void;
}

/** Large enough for every framework's cookies and policies; what is more means harm. */
const maxHeadBytes = 32 * 1024;
const maxFields = 512;
/** Interim answers before the real one: a hint or two. */
const maxInterim = 16;
const maxLineBytes = 1024;

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?$/;
const field = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[\t ]*([\t\x20-\x7e\x80-\xff]*?)[\t ]*$/;

type State = 'idle' | 'head' | 'length' | 'size' | 'chunk' | 'chunkEnd' | 'trailers' | 'close' | 'done' | 'raw';

/**
 * Reads the answers of a port. Written by hand: the parser of Node is not to be had without its client, which costs more
 * than everything else that a preview does. What is not plain HTTP/1.1 is refused as a whole.
 *
 * Laws
 * - Whatever comes, in whatever pieces, no more than a head or a line of it is held.
 * - An answer whose length can be read in two ways is refused.
 * - Bytes that nobody asked for are an error.
 */
export class ResponseReader {
  #state: State = 'idle';
  #sink: AnswerSink | undefined;
  #isHead = false;
  #mayUpgrade = false;
  #held: Buffer | undefined;
  #left = 0;
  #interim = 0;
  #isReusable = false;
  #keepAliveSeconds: number | undefined;

  /** The next answer is for a request of this method. */
  expect(sink: AnswerSink, method: string, mayUpgrade = false): void {
    this.#state = 'head';
    this.#sink = sink;
    this.#isHead = method === 'HEAD';
    this.#mayUpgrade = mayUpgrade;
    this.#interim = 0;
    this.#isReusable = false;
    this.#keepAliveSeconds = undefined;
  }

  /** Whether the connection can carry another request, once this answer is over. */
  get isReusable(): boolean {
    return this.#isReusable && this.#state === 'done' && this.#held === undefined;
  }

  /** How long the port says that it keeps a silent connection. */
  get keepAliveSeconds(): number | undefined {
    return this.#keepAliveSeconds;
  }

  /** What came behind the head of an answer that changes the protocol. */
  takeRest(): Buffer {
    const rest = this.#held ?? Buffer.alloc(0);
    this.#held = undefined;
    return rest;
  }

  push(bytes: Buffer): void {
    let rest = this.#held === undefined ? bytes : Buffer.concat([this.#held, bytes]);
    this.#held = undefined;
    while (rest.length > 0) {
      const taken = this.#step(rest);
      if (taken === 0) {
        this.#held = rest;
        return;
      }
      rest = rest.subarray(taken);
    }
  }

  /** The port has ended its direction. */
  finish(): void {
    if (this.#state === 'close') {
      this.#state = 'done';
      this.#sink?.end();
      return;
    }
    if (this.#state !== 'done' && this.#state !== 'idle' && this.#state !== 'raw')
      throw invalid('it ended in the middle of its answer');
  }

  /** How many of the bytes were used; none when more are needed. */
  #step(bytes: Buffer): number {
    switch (this.#state) {
      case 'head':
        return this.#readHead(bytes);
      case 'length':
      case 'chunk':
        return this.#readBody(bytes);
      case 'close':
        this.#sink?.data(bytes, false);
        return bytes.length;
      case 'size':
        return this.#readSize(bytes);
      case 'chunkEnd':
        return this.#readLine(bytes, (line) => {
          if (line !== '') throw invalid('a chunk is not as long as it says');
          this.#state = 'size';
        });
      case 'trailers':
        return this.#readTrailer(bytes);
      case 'raw':
        return 0;
      default:
        throw invalid('it sent more than its answer');
    }
  }

  #readHead(bytes: Buffer): number {
    const end = bytes.indexOf('\r\n\r\n');
    if (end > maxHeadBytes || (end === -1 && bytes.length > maxHeadBytes)) throw invalid('its head is too long');
    if (end === -1) return 0;
    const lines = bytes.toString('latin1', 0, end).split('\r\n');
    const first = statusLine.exec(lines[0] ?? '');
    if (!first) throw invalid('its first line cannot be read');
    if (lines.length - 1 > maxFields) throw invalid('it has too many fields');
    const status = Number(first[2]);
    const fields: string[] = [];
    for (let at = 1; at < lines.length; at += 1) {
      const match = field.exec(lines[at] ?? '');
      if (!match) throw invalid('one of its fields cannot be read');
      fields.push(match[1] ?? '', match[2] ?? '');
    }
    if (status < 200 && status !== 101) {
      this.#interim += 1;
      if (this.#interim > maxInterim) throw invalid('it never begins');
      return end + 4;
    }
    if (status === 101 && !this.#mayUpgrade) throw invalid('it changes the protocol although nobody asked');
    this.#begin(status, first[3] ?? '', fields, first[1] === '1');
    return end + 4;
  }

  #begin(status: number, reason: string, fields: string[], isNew: boolean): void {
    const framing = readFraming(fields, isNew);
    const { length, chunked, keepAlive } = framing;
    this.#isReusable = keepAlive;
    this.#keepAliveSeconds = framing.keepAliveSeconds;
    const isEmpty = this.#isHead || status === 204 || status === 304;
    if (status === 101) this.#state = 'raw';
    else if (isEmpty || length === 0) this.#state = 'done';
    else if (chunked) this.#state = 'size';
    else if (length !== undefined) this.#state = 'length';
    else this.#state = 'close';
    if (this.#state === 'close') this.#isReusable = false;
    this.#left = length ?? 0;
    const sink = this.#sink;
    sink?.head(status, reason, fields, length);
    if (this.#state === 'done') sink?.end();
  }

  #readBody(bytes: Buffer): number {
    const size = Math.min(this.#left, bytes.length);
    this.#left -= size;
    const part = size === bytes.length ? bytes : bytes.subarray(0, size);
    const isOver = this.#left === 0;
    const isLast = isOver && this.#state === 'length';
    if (isOver) this.#state = isLast ? 'done' : 'chunkEnd';
    this.#sink?.data(part, isLast);
    return size;
  }

  #readSize(bytes: Buffer): number {
    return this.#readLine(bytes, (line) => {
      const match = /^([0-9A-Fa-f]{1,12})(?:[\t ]*;[\t\x20-\x7e\x80-\xff]*)?$/.exec(line);
      if (!match) throw invalid('the size of a chunk cannot be read');
      this.#left = Number.parseInt(match[1] ?? '', 16);
      this.#state = this.#left === 0 ? 'trailers' : 'chunk';
    });
  }

  /** Trailers are dropped: nobody is promised them. */
  #readTrailer(bytes: Buffer): number {
    return this.#readLine(bytes, (line) => {
      if (line === '') {
        this.#state = 'done';
        this.#sink?.end();
        return;
      }
      this.#interim += 1;
      if (this.#interim > maxFields || !field.test(line)) throw invalid('its trailers cannot be read');
    });
  }

  #readLine(bytes: Buffer, take: (line: string) => void): number {
    const end = bytes.indexOf('\r\n');
    if (end > maxLineBytes || (end === -1 && bytes.length > maxLineBytes)) throw invalid('a line of it is too long');
    if (end === -1) return 0;
    take(bytes.toString('latin1', 0, end));
    return end + 2;
  }
}

interface Framing {
  readonly length: number | undefined;
  readonly chunked: boolean;
  readonly keepAlive: boolean;
  readonly keepAliveSeconds: number | undefined;
}

function readFraming(fields: readonly string[], isNew: boolean): Framing {
  let length: number | undefined;
  let chunked = false;
  let keepAlive = isNew;
  let keepAliveSeconds: number | undefined;
  for (let at = 0; at < fields.length; at += 2) {
    const value = fields[at + 1] ?? '';
    switch (fields[at]?.toLowerCase()) {
      case 'content-length': {
        if (!/^\d{1,15}$/.test(value) || (length !== undefined && length !== Number(value)))
          throw invalid('its length cannot be read');
        length = Number(value);
        break;
      }
      case 'transfer-encoding': {
        if (chunked || !isNew || value.toLowerCase() !== 'chunked') throw invalid('its encoding is not known');
        chunked = true;
        break;
      }
      case 'connection': {
        if (/\bclose\b/i.test(value)) keepAlive = false;
        else if (/\bkeep-alive\b/i.test(value)) keepAlive = true;
        break;
      }
      case 'keep-alive': {
        const seconds = /\btimeout=(\d{1,6})\b/i.exec(value)?.[1];
        if (seconds !== undefined) keepAliveSeconds = Number(seconds);
      }
    }
  }
  if (chunked && length !== undefined) throw invalid('its length is told twice');
  return { length, chunked, keepAlive, keepAliveSeconds };
}

function invalid(why: string): CaissonError {
  return new CaissonError('port_answer_invalid', `the answer of the port cannot be read: ${why}`);
}
