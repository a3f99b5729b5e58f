import { Duplex } from 'node:stream';

const headerBytes = 8;
const stdout = 1;
const stderr = 2;
/** What is kept of what the program said beside its output. */
const lastWords = 1_000;

/**
 * The stream of a program that an engine runs without a terminal: what is written is its stdin, what is read its stdout.
 * The engine sends its two outputs as pieces, each behind a header; they are passed on as they come, whole or not, and
 * nothing is joined or copied.
 */
export class ExecStream extends Duplex {
  readonly #stream: Duplex;
  readonly #header = Buffer.alloc(headerBytes);
  #headerSize = 0;
  #left = 0;
  #kind = 0;
  #words = '';

  constructor(stream: Duplex) {
    super({ allowHalfOpen: true });
    this.#stream = stream;
    // Whoever reads it listens too; what comes after they stopped is nobody's.
    this.on('error', () => {});
    stream.on('data', (chunk: Buffer) => this.#take(chunk));
    stream.on('end', () => this.push(null));
    stream.on('error', (error) => this.destroy(error));
    stream.on('close', () => this.destroy());
    stream.on('drain', () => this.emit('room'));
  }

  /** The last of what it wrote to stderr. */
  get words(): string {
    return this.#words.trim();
  }

  override _read(): void {
    this.#stream.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#pass(() => this.#stream.write(chunk), done);
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.#pass(() => {
      this.#stream.cork();
      let hasRoom = true;
      for (const { chunk } of chunks) hasRoom = this.#stream.write(chunk);
      this.#stream.uncork();
      return hasRoom;
    }, done);
  }

  override _final(done: () => void): void {
    this.#stream.end();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#stream.destroy();
    this.emit('room');
    done(error);
  }

  /** What has gone into the stream below counts as written as soon as that has room for more. */
  #pass(write: () => boolean, done: (error?: Error | null) => void): void {
    if (this.#stream.destroyed) done(new Error('the stream to the engine is closed'));
    else if (write()) done();
    else this.once('room', () => done());
  }

  #take(chunk: Buffer): void {
    let at = 0;
    let hasRoom = true;
    while (at < chunk.length) {
      if (this.#left === 0) {
        at += this.#takeHeader(chunk, at);
        continue;
      }
      const piece = chunk.subarray(at, at + this.#left);
      at += piece.length;
      this.#left -= piece.length;
      if (this.#kind === stdout) hasRoom = this.push(piece);
      else this.#words = (this.#words + piece).slice(-lastWords);
    }
    if (!hasRoom) this.#stream.pause();
  }

  /** Answers how many bytes of the chunk belonged to it. */
  #takeHeader(chunk: Buffer, at: number): number {
    const taken = chunk.copy(this.#header, this.#headerSize, at, at + headerBytes - this.#headerSize);
    this.#headerSize += taken;
    if (this.#headerSize < headerBytes) return taken;
    this.#headerSize = 0;
    this.#kind = this.#header[0] ?? 0;
    this.#left = this.#header.readUInt32BE(4);
    if (this.#kind === stdout || this.#kind === stderr) return taken;
    this.destroy(new Error(`the engine sent a piece of the kind ${this.#kind}`));
    return chunk.length - at;
  }
}

/** Both outputs of an answer that has come whole, in their order. */
export function joinPieces(bytes: Buffer): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; at + headerBytes <= bytes.length; ) {
    const size = bytes.readUInt32BE(at + 4);
    pieces.push(bytes.subarray(at + headerBytes, at + headerBytes + size));
    at += headerBytes + size;
  }
  return Buffer.concat(pieces);
}
