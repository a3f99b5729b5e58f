import { decodeHeader, type Frame } from './frame.ts';
import type { FrameName } from './frame-types.ts';
import { limits } from './limits.ts';
import { ProtocolError } from './protocol-error.ts';

interface Partial {
  readonly type: FrameName;
  readonly channel: number;
  readonly payload: Buffer;
  filled: number;
}

/**
 * Turns chunks of any size into frames.
 *
 * Laws:
 * - A payload that lies within one chunk is handed out as a view of that chunk; one that crosses chunks is copied once.
 *   A caller that reuses its chunk buffer must be done with the frames before it does.
 * - Nothing is allocated for a header that breaks a bound.
 * - Every frame before a fault is delivered. After a fault, also one of the sink, every push fails: the place in the
 *   stream is lost and cannot be found again.
 */
export class FrameDecoder {
  /** Starts at the handshake's bound; the owner lifts it to `limits.payloadMax` when the handshake is done. */
  payloadMax: number;
  readonly #header = Buffer.alloc(limits.headerBytes);
  #headerFilled = 0;
  #skip = 0;
  #partial: Partial | undefined;
  #failed = false;

  constructor(payloadMax: number = limits.handshakePayloadMax) {
    this.payloadMax = payloadMax;
  }

  push(chunk: Uint8Array, sink: (frame: Frame) => void): void {
    if (this.#failed) throw new ProtocolError('truncated', 'the decoder has already failed');
    this.#failed = true;
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let at = 0;
    while (at < bytes.length) {
      if (this.#skip > 0) {
        const step = Math.min(this.#skip, bytes.length - at);
        this.#skip -= step;
        at += step;
      } else if (this.#partial !== undefined) {
        at = this.#fill(this.#partial, bytes, at, sink);
      } else if (this.#headerFilled > 0 || bytes.length - at < limits.headerBytes) {
        at = this.#gather(bytes, at, sink);
      } else {
        at = this.#begin(bytes, at, bytes, at + limits.headerBytes, sink);
      }
    }
    this.#failed = false;
  }

  /** Called when the stream ends: a stream may only end between frames. */
  finish(): void {
    if (this.#headerFilled > 0 || this.#skip > 0 || this.#partial !== undefined) {
      throw new ProtocolError('truncated', 'the stream ended inside a frame');
    }
  }

  #gather(bytes: Buffer, at: number, sink: (frame: Frame) => void): number {
    const step = Math.min(limits.headerBytes - this.#headerFilled, bytes.length - at);
    bytes.copy(this.#header, this.#headerFilled, at, at + step);
    this.#headerFilled += step;
    if (this.#headerFilled < limits.headerBytes) return at + step;
    this.#headerFilled = 0;
    return this.#begin(this.#header, 0, bytes, at + step, sink);
  }

  #begin(source: Buffer, headerAt: number, bytes: Buffer, at: number, sink: (frame: Frame) => void): number {
    const { type, channel, length } = decodeHeader(source, headerAt, this.payloadMax);
    if (type === undefined) {
      this.#skip = length;
      return at;
    }
    if (bytes.length - at >= length) {
      sink({ type, channel, payload: bytes.subarray(at, at + length) });
      return at + length;
    }
    this.#partial = { type, channel, payload: Buffer.allocUnsafe(length), filled: 0 };
    return at;
  }

  #fill(partial: Partial, bytes: Buffer, at: number, sink: (frame: Frame) => void): number {
    const step = Math.min(partial.payload.length - partial.filled, bytes.length - at);
    bytes.copy(partial.payload, partial.filled, at, at + step);
    partial.filled += step;
    if (partial.filled === partial.payload.length) {
      this.#partial = undefined;
      sink({ type: partial.type, channel: partial.channel, payload: partial.payload });
    }
    return at + step;
  }
}
