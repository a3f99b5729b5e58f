import { Duplex } from 'node:stream';
import { Message, writeMessage } from '../grpc/protobuf.ts';

/** Within what the other side takes in one message, whatever its settings. */
const pieceBytes = 64 * 1024;

/** A call, made here or by the other side. */
export interface PieceCall {
  send(message: Uint8Array): Promise<void>;
  messages(): AsyncIterable<Buffer>;
  endSending(): void;
  cancel(): void;
}

/** A call whose messages are pieces of bytes, as a stream of them. */
export class PieceStream extends Duplex {
  readonly #call: PieceCall;
  #reading: Promise<void> | undefined;
  #onRoom: (() => void) | undefined;

  constructor(call: PieceCall) {
    super({ allowHalfOpen: true });
    // Whoever uses it listens too; what comes after they stopped is nobody's.
    this.on('error', () => {});
    this.#call = call;
  }

  override _read(): void {
    this.#onRoom?.();
    this.#reading ??= this.#take();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#send(chunk).then(() => done(), done);
  }

  override _final(done: () => void): void {
    this.#call.endSending();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    // One that has come to its end both ways is over by itself.
    if (!this.writableFinished || !this.readableEnded) this.#call.cancel();
    this.#onRoom?.();
    done(error);
  }

  async #send(chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.length; at += pieceBytes)
      await this.#call.send(writeMessage([1, chunk.subarray(at, at + pieceBytes)]));
  }

  async #take(): Promise<void> {
    try {
      for await (const message of this.#call.messages()) {
        const data = new Message(message).bytes(1);
        if (data.length > 0 && !this.push(data)) await this.#room();
        if (this.destroyed) return;
      }
      this.push(null);
    } catch (error) {
      this.destroy(error as Error);
    }
  }

  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRoom = () => {
        this.#onRoom = undefined;
        resolve();
      };
    });
  }
}
