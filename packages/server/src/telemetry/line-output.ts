import { write } from 'node:fs';

/** What waits to be written when nobody reads; beyond it lines are dropped, and whoever logs goes on. */
const maxWaitingBytes = 1_048_576;
/** A reader that is full now may have room in a moment. */
const retryMs = 50;

/**
 * Lines to a file descriptor, in order, without ever waiting for it or failing because of it. By hand, because the usual
 * writer throws into the middle of a request once its disk is full, and at the end waits for it without end.
 */
export class LineOutput {
  readonly #fd: number;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #writing = false;
  #dropped = 0;

  constructor(fd: number) {
    this.#fd = fd;
  }

  get dropped(): number {
    return this.#dropped;
  }

  write(line: string): void {
    if (this.#waitingBytes + line.length > maxWaitingBytes) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(line);
    this.#waitingBytes += line.length;
    if (!this.#writing) this.#next();
  }

  #next(): void {
    this.#writing = this.#waiting.length > 0;
    if (!this.#writing) return;
    const lines = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#put(Buffer.from(lines.join('')), lines.length);
  }

  #put(bytes: Buffer, lines: number): void {
    write(this.#fd, bytes, (error, written) => {
      if (error?.code === 'EAGAIN') {
        setTimeout(() => this.#put(bytes, lines), retryMs).unref();
      } else if (error) {
        this.#dropped += lines;
        this.#next();
      } else if (written < bytes.length) {
        this.#put(bytes.subarray(written), lines);
      } else {
        this.#next();
      }
    });
  }
}
