import type { CaissonError } from '@caisson/contract';
import { decodeMessage } from '../protocol/decode-message.ts';
import { limits } from '../protocol/limits.ts';
import type { Reset } from '../protocol/messages.ts';
import type { Method } from '../protocol/methods/method.ts';
import { type MethodName, methods } from '../protocol/methods.ts';
import { fromAbort, fromReset } from './translate-error.ts';

/** What a channel needs of its connection. */
export interface ChannelLink {
  credit(channel: number): number;
  sendData(channel: number, payload: Uint8Array): void;
  sendEnd(channel: number): void;
  sendResult(channel: number, payload: Uint8Array): void;
  sendReset(channel: number, code: Reset['code'], message: string): void;
  grant(channel: number, credit: number): void;
  /** Resolves when the stream takes more; at once when it does. */
  room(): Promise<void> | undefined;
}

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** From this many waiting pieces on, small ones are joined, up to this size. */
const crowd = 64;
const joinMax = 1024;

/** Credit is given by so many parts of the window: each is a system call here and wakes the guest. Fewer make it wait. */
const portions = 4;
/** What is less is given after this, for a guest that has less room than the window: it may wait for just that. */
const restMs = 1;

/**
 * One channel as this side uses it, whoever opened it: a result, chunks to read, bytes to write.
 *
 * Laws
 * - A chunk counts as seen when the reader asks for the next one, or says so with `seen`; only then is credit given, in
 *   large parts while the stream runs and soon for what is less.
 * - After `fail` every promise of the channel is rejected with the same error; what was read before stays readable.
 */
export class GuestChannel {
  readonly id: number;
  readonly method: MethodName;
  readonly result: Promise<Uint8Array>;
  /** Called with the bytes of input that have left the guest. */
  onCredit: ((size: number) => void) | undefined;
  /** Credit is given only by `seen`: for a reader that may need again what it has read. */
  holdsCredit = false;
  /** Called once when the channel fails. */
  onFailed: ((error: Error) => void) | undefined;
  readonly #link: ChannelLink;
  readonly #portion: number;
  readonly #subject: string | undefined;
  readonly #chunks: Uint8Array[] = [];
  #settle: { resolve: (payload: Uint8Array) => void; reject: (error: Error) => void } | undefined;
  #reader: Waiting | undefined;
  #writer: Waiting | undefined;
  #unseen = 0;
  #ungranted = 0;
  #later: NodeJS.Timeout | undefined;
  #ended = false;
  #sentEnd = false;
  #error: Error | undefined;

  /** `subject`: the path that the request is about, for what it may fail with. */
  constructor(link: ChannelLink, id: number, method: MethodName, window: number, subject?: string) {
    this.#link = link;
    this.id = id;
    this.method = method;
    this.#portion = window / portions;
    this.#subject = subject;
    this.result = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    // A caller that only reads, or has gone, must not turn a lost connection into an unhandled rejection.
    this.result.catch(() => {});
  }

  get #isOver(): boolean {
    return this.#ended || this.#error !== undefined;
  }

  get failed(): Error | undefined {
    return this.#error;
  }

  /** The next chunk, or undefined at the end. The one before it counts as seen. */
  async read(): Promise<Uint8Array | undefined> {
    this.#markSeen();
    while (this.#chunks.length === 0) {
      if (this.#error !== undefined) throw this.#error;
      if (this.#ended) return undefined;
      await new Promise<void>((resolve, reject) => {
        this.#reader = { resolve, reject };
      });
    }
    const chunk = this.#chunks.shift();
    this.#unseen = chunk?.byteLength ?? 0;
    return chunk;
  }

  /** The next chunk where one has come already. As `read`, without a wait. */
  take(): Uint8Array | undefined {
    this.#markSeen();
    const chunk = this.#chunks.shift();
    this.#unseen = chunk?.byteLength ?? 0;
    return chunk;
  }

  /** Records of the method, decoded and checked. */
  async *records<T>(): AsyncGenerator<T> {
    const { record }: Method = methods[this.method];
    if (record === undefined) return;
    for (let chunk = await this.read(); chunk !== undefined; chunk = await this.read()) {
      yield decodeMessage(record, chunk) as T;
    }
  }

  /** Of a channel that holds credit: so many more bytes will not be needed again. */
  seen(bytes: number): void {
    this.#ungranted += bytes;
    this.#grant();
  }

  #markSeen(): void {
    if (!this.holdsCredit) this.#ungranted += this.#unseen;
    this.#unseen = 0;
    this.#grant();
  }

  #grant(): void {
    if (this.#ungranted >= this.#portion) this.#give();
    else if (this.#ungranted > 0 && !this.#isOver) this.#later ??= setTimeout(() => this.#giveRest(), restMs).unref();
  }

  #giveRest(): void {
    this.#later = undefined;
    this.#give();
  }

  #give(): void {
    if (this.#ungranted === 0 || this.#isOver) return;
    const credit = this.#ungranted;
    this.#ungranted = 0;
    this.#link.grant(this.id, credit);
  }

  /** Resolves when all of it has been sent, which waits for credit and for the stream. */
  async write(bytes: Uint8Array): Promise<void> {
    let at = 0;
    while (at < bytes.byteLength) {
      if (this.#error !== undefined) throw this.#error;
      const credit = this.#link.credit(this.id);
      if (credit === 0) {
        if (this.#sentEnd) return;
        await new Promise<void>((resolve, reject) => {
          this.#writer = { resolve, reject };
        });
        continue;
      }
      const size = Math.min(credit, limits.dataAdvised, bytes.byteLength - at);
      this.#link.sendData(this.id, bytes.subarray(at, at + size));
      at += size;
      const room = this.#link.room();
      if (room !== undefined) await room;
    }
  }

  /** Sends what credit and stream take at once, and says how much that was. The rest is for `write`. */
  writeNow(bytes: Uint8Array): number {
    let at = 0;
    while (at < bytes.byteLength && this.#error === undefined && this.#link.room() === undefined) {
      const size = Math.min(this.#link.credit(this.id), limits.dataAdvised, bytes.byteLength - at);
      if (size === 0) break;
      this.#link.sendData(this.id, bytes.subarray(at, at + size));
      at += size;
    }
    return at;
  }

  end(): void {
    if (this.#sentEnd || this.#error !== undefined) return;
    this.#sentEnd = true;
    this.#link.sendEnd(this.id);
  }

  /** Answers a channel that the guest opened. */
  answer(payload: Uint8Array): void {
    if (this.#error === undefined) this.#link.sendResult(this.id, payload);
  }

  /** Wants no more. Both directions are over. */
  cancel(error: Error, code: Reset['code'] = 'cancelled'): void {
    if (this.#error !== undefined) return;
    this.#link.sendReset(this.id, code, 'cancelled');
    this.fail(error);
  }

  /** Cancels when the signal says so; gives back how to stop listening. */
  obey(signal: AbortSignal | undefined): () => void {
    if (signal === undefined) return () => {};
    const stop = () => this.cancel(fromAbort(signal));
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    return () => signal.removeEventListener('abort', stop);
  }

  // What the connection tells.

  gotResult(payload: Uint8Array): void {
    // The payload is a view of a chunk that is reused by nobody, so it may be kept.
    this.#settle?.resolve(payload);
    if (methods[this.method].answer !== 'first') this.gotEnd();
  }

  gotData(payload: Uint8Array): void {
    const last = this.#chunks.at(-1);
    // A guest that sends byte by byte must not cost a reader that is slow an object for each.
    if (last !== undefined && this.#chunks.length > crowd && last.byteLength + payload.byteLength <= joinMax) {
      this.#chunks[this.#chunks.length - 1] = Buffer.concat([last, payload]);
    } else {
      this.#chunks.push(payload);
    }
    this.#wake('reader');
  }

  gotEnd(): void {
    this.#ended = true;
    clearTimeout(this.#later);
    this.#wake('reader');
    this.#wake('writer');
  }

  gotCredit(size: number): void {
    this.onCredit?.(size);
    this.#wake('writer');
  }

  gotReset(reset: Reset): void {
    this.fail(fromReset(this.method, reset, this.#subject));
  }

  fail(error: Error | CaissonError): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    clearTimeout(this.#later);
    this.#settle?.reject(error);
    this.#wake('reader');
    this.#wake('writer');
    this.onFailed?.(error);
  }

  #wake(which: 'reader' | 'writer'): void {
    if (which === 'reader') {
      const waiting = this.#reader;
      this.#reader = undefined;
      waiting?.resolve();
    } else {
      const waiting = this.#writer;
      this.#writer = undefined;
      waiting?.resolve();
    }
  }
}
