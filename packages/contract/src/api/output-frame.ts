import { CaissonError } from '../errors/caisson-error.ts';

/**
 * What a process writes and how it ends, as a stream of frames: one byte of kind, four bytes of length (little-endian),
 * that many bytes. `process.exec`, `process.output` and `process.attach` speak it; on a WebSocket each message is one
 * frame without its length.
 *
 * Laws
 * - `started` comes first and says at which offset of each stream the bytes begin. Counting what came tells where to go on.
 * - Bytes of one stream come in order. Between the two streams there is no order.
 * - `lost` comes before the bytes that follow the gap.
 * - `stdin` says, to a client that asked for `acks`, up to which offset its input counts. The rest it sends again when it
 *   comes back.
 * - A frame without bytes means nothing; it keeps the connection.
 * - `exit` or `problem` is the last frame. A stream that ends without one of them was cut off: go on from the offsets.
 */
export const outputKinds = { started: 0, stdout: 1, stderr: 2, exit: 3, problem: 4, lost: 5, stdin: 6 } as const;
export type OutputKind = keyof typeof outputKinds;

/**
 * What a client sends on a WebSocket: one byte of kind, and the rest. `ack` says up to which offset of each stream the
 * output has arrived, where the client asked for `acks`: what it has not acknowledged is kept for when it comes back.
 */
export const inputKinds = { stdin: 0, end: 1, resize: 2, signal: 3, ack: 4 } as const;
export type InputKind = keyof typeof inputKinds;

export const frameHeaderBytes = 5;
/** Frames of text are small, and bytes come in pieces of a socket's read; more is not a frame of ours. */
export const maxFrameBytes = 4 * 1024 * 1024;

export interface OutputFrame {
  readonly kind: OutputKind;
  readonly bytes: Uint8Array;
}

const kindsByNumber = Object.keys(outputKinds) as OutputKind[];

export function outputKind(number: number | undefined): OutputKind {
  const kind = number === undefined ? undefined : kindsByNumber[number];
  if (kind === undefined) throw new CaissonError('internal', `a frame of output has the unknown kind ${number}`);
  return kind;
}

/** The head of a frame, written into its own bytes so that the payload is never copied. */
export function frameHeader(kind: OutputKind, length: number): Uint8Array {
  const header = new Uint8Array(frameHeaderBytes);
  header[0] = outputKinds[kind];
  new DataView(header.buffer).setUint32(1, length, true);
  return header;
}

/** Bytes in whatever pieces → frames. Bytes of stdout and stderr are given on as they come, not held for their frame. */
export class OutputFrameReader {
  readonly #header = new Uint8Array(frameHeaderBytes);
  #headerBytes = 0;
  #kind: OutputKind = 'started';
  #left = 0;
  #text: Uint8Array[] = [];

  *push(bytes: Uint8Array): Generator<OutputFrame> {
    let at = 0;
    while (at < bytes.byteLength) {
      if (this.#headerBytes < frameHeaderBytes) {
        const part = bytes.subarray(at, at + frameHeaderBytes - this.#headerBytes);
        this.#header.set(part, this.#headerBytes);
        this.#headerBytes += part.byteLength;
        at += part.byteLength;
        if (this.#headerBytes < frameHeaderBytes) return;
        this.#begin();
        if (this.#left > 0) continue;
      }
      const part = bytes.subarray(at, at + this.#left);
      at += part.byteLength;
      this.#left -= part.byteLength;
      const frame = this.#take(part);
      if (this.#left === 0) this.#headerBytes = 0;
      if (frame !== undefined) yield frame;
    }
  }

  #begin(): void {
    this.#kind = outputKind(this.#header[0]);
    this.#left = new DataView(this.#header.buffer).getUint32(1, true);
    this.#text = [];
    if (this.#left > maxFrameBytes) throw new CaissonError('internal', 'a frame of output is too long');
  }

  #take(part: Uint8Array): OutputFrame | undefined {
    if (this.#kind === 'stdout' || this.#kind === 'stderr') {
      return part.byteLength === 0 ? undefined : { kind: this.#kind, bytes: part };
    }
    this.#text.push(part);
    return this.#left > 0 ? undefined : { kind: this.#kind, bytes: joined(this.#text) };
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts;
  if (parts.length === 1 && first !== undefined) return first;
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}
