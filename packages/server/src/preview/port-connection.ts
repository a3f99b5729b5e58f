import type { Duplex } from 'node:stream';
import { CaissonError } from '@caisson/contract';
import { type AnswerSink, ResponseReader } from './response-reader.ts';

/** Who has the connection: takes the answer, and learns of its failure. */
export interface ConnectionUser extends AnswerSink {
  /** Everything that has come so far was told. */
  caughtUp(): void;
  /** `untouched`: not one byte of an answer came, so that nobody knows whether the port saw the request. */
  failed(error: Error, untouched: boolean): void;
}

/** One connection to a port inside, with one request at a time. */
export class PortConnection {
  readonly stream: Duplex;
  /** When it was last given back. */
  idleSince = 0;
  /** How often it was used before. */
  uses = 0;
  /** Called when it is over, whoever ended it. */
  onClosed: (() => void) | undefined;
  readonly #reader = new ResponseReader();
  #user: ConnectionUser | undefined;
  #isUntouched = true;

  constructor(stream: Duplex) {
    this.stream = stream;
    stream.on('data', (bytes: Buffer) => this.#take(bytes));
    stream.on('end', () => this.#ended());
    stream.on('error', (error) => this.#fail(error));
    stream.on('close', () => {
      this.#fail(new CaissonError('port_answer_invalid', 'the connection to the port was closed'));
      this.onClosed?.();
    });
  }

  get isOpen(): boolean {
    return !this.stream.destroyed && this.stream.writable && !this.stream.readableEnded;
  }

  /** After its answer: whether it may carry another request. */
  get isReusable(): boolean {
    return this.isOpen && this.#reader.isReusable;
  }

  /** How long it may be kept, as the port says. */
  get keepAliveSeconds(): number | undefined {
    return this.#reader.keepAliveSeconds;
  }

  use(user: ConnectionUser, method: string, mayUpgrade = false): void {
    this.uses += 1;
    this.#user = user;
    this.#isUntouched = true;
    this.#reader.expect(user, method, mayUpgrade);
  }

  /** The user has its whole answer. */
  release(): void {
    this.#user = undefined;
  }

  /** From here on the bytes are nobody's but the user's; what has come already is given back. */
  detach(): Buffer {
    this.#user = undefined;
    this.stream.removeAllListeners('data');
    this.stream.removeAllListeners('end');
    this.stream.pause();
    return this.#reader.takeRest();
  }

  destroy(): void {
    this.#user = undefined;
    this.stream.destroy();
  }

  #take(bytes: Buffer): void {
    this.#isUntouched = false;
    const user = this.#user;
    try {
      this.#reader.push(bytes);
    } catch (error) {
      this.#fail(error as Error);
      this.stream.destroy();
      return;
    }
    user?.caughtUp();
  }

  #ended(): void {
    const user = this.#user;
    try {
      this.#reader.finish();
      user?.caughtUp();
    } catch (error) {
      this.#fail(error as Error);
    }
    this.stream.destroy();
  }

  #fail(error: Error): void {
    const user = this.#user;
    this.#user = undefined;
    user?.failed(error, this.#isUntouched);
  }
}
