import { Duplex } from 'node:stream';
import type { Reset } from '../protocol/messages.ts';
import type { GuestChannel } from './guest-channel.ts';

type Done = (error?: Error | null) => void;

/** Up to here pieces that wait together, as heads and bodies of HTTP do, leave as one frame. */
const joinMax = 16 * 1024;

/**
 * A channel with bytes in both directions as a stream. Half-close is right: `end()` ends our direction alone, and theirs
 * ends on its own. Destroying it resets the channel.
 */
export class ChannelDuplex extends Duplex {
  readonly #channel: GuestChannel;
  #isReading = false;

  constructor(channel: GuestChannel) {
    super({
      allowHalfOpen: true,
      autoDestroy: true,
      readableHighWaterMark: 256 * 1024,
      writableHighWaterMark: 256 * 1024,
    });
    this.#channel = channel;
    // A reset must be seen also by one who neither reads nor writes at the moment.
    channel.onFailed = (error) => this.destroy(error);
  }

  /** Resets the channel with this code. That is our own wish, so it is no error of the stream. */
  refuse(code: Reset['code']): void {
    this.#channel.onFailed = undefined;
    this.#channel.cancel(new Error(code), code);
    this.destroy();
  }

  override _read(): void {
    if (this.#isReading) return;
    // What has come already needs no promise.
    for (let chunk = this.#channel.take(); chunk !== undefined; chunk = this.#channel.take()) {
      if (!this.push(chunk)) return;
    }
    this.#isReading = true;
    this.#channel.read().then(
      (chunk) => {
        this.#isReading = false;
        if (this.push(chunk ?? null) && chunk !== undefined) this._read();
      },
      (error: Error) => {
        this.#isReading = false;
        this.destroy(error);
      },
    );
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    this.#send([chunk], done);
  }

  override _writev(pieces: { chunk: Buffer }[], done: Done): void {
    const chunks = pieces.map(({ chunk }) => chunk);
    let size = 0;
    for (const chunk of chunks) size += chunk.byteLength;
    this.#send(size <= joinMax ? [Buffer.concat(chunks, size)] : chunks, done);
  }

  /** Without a promise where the channel takes all of it at once, which is nearly always. */
  #send(chunks: readonly Buffer[], done: Done): void {
    for (const [index, chunk] of chunks.entries()) {
      const sent = this.#channel.writeNow(chunk);
      if (sent === chunk.byteLength) continue;
      this.#sendLater([chunk.subarray(sent), ...chunks.slice(index + 1)]).then(() => done(), done);
      return;
    }
    done();
  }

  async #sendLater(chunks: readonly Buffer[]): Promise<void> {
    for (const chunk of chunks) await this.#channel.write(chunk);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#channel.end();
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#channel.onFailed = undefined;
    this.#channel.cancel(error ?? new Error('the stream was destroyed'));
    done(error);
  }
}
