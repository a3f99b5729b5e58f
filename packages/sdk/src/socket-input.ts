/** What may be on its way to the server; a message holds a part of it. */
const windowBytes = 256 * 1024;
const messageBytes = 64 * 1024;

type Send = (kind: 'stdin' | 'end', bytes: Uint8Array) => void;

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * Stdin over a socket that may break. What the server has not accepted is kept, at most a window of it, and sent again
 * from there on the next socket, so that each byte counts once.
 */
export class SocketInput {
  readonly #send: Send;
  readonly #kept: Uint8Array[] = [];
  #keptBytes = 0;
  /** Offset of the first kept byte; undefined until the server has told where its stdin is. */
  #at: number | undefined;
  #isEnded = false;
  #error: Error | undefined;
  #turn: Promise<void> = Promise.resolve();
  #room: Waiting | undefined;

  constructor(send: Send) {
    this.#send = send;
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#inTurn(async () => {
      for (let from = 0; from < bytes.byteLength; from += messageBytes) {
        // A copy: the caller may use its bytes again, and these may have to be sent again.
        const part = bytes.slice(from, from + messageBytes);
        while (this.#keptBytes > 0 && this.#keptBytes + part.byteLength > windowBytes) await this.#roomier();
        if (this.#error !== undefined) throw this.#error;
        this.#kept.push(part);
        this.#keptBytes += part.byteLength;
        if (this.#at !== undefined) this.#send('stdin', part);
      }
    });
  }

  /** Closes stdin when everything before has been accepted: then nothing has to be sent again behind the end. */
  end(): Promise<void> {
    return this.#inTurn(async () => {
      while (this.#keptBytes > 0) await this.#roomier();
      this.#isEnded = true;
      if (this.#at !== undefined) this.#send('end', new Uint8Array(0));
    });
  }

  /** A new socket: the server's stdin is at this offset. */
  resume(at: number): void {
    if (this.#at === undefined) this.#at = at;
    else this.accepted(at);
    for (const part of this.#kept) this.#send('stdin', part);
    if (this.#isEnded) this.#send('end', new Uint8Array(0));
  }

  accepted(at: number): void {
    let left = at - (this.#at ?? at);
    this.#at = at;
    while (left > 0) {
      const first = this.#kept[0];
      if (first === undefined) break;
      const size = Math.min(left, first.byteLength);
      if (size === first.byteLength) this.#kept.shift();
      else this.#kept[0] = first.subarray(size);
      this.#keptBytes -= size;
      left -= size;
    }
    this.#room?.resolve();
    this.#room = undefined;
  }

  fail(error: Error): void {
    this.#error ??= error;
    this.#room?.reject(error);
    this.#room = undefined;
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => {});
    return mine;
  }

  #roomier(): Promise<void> {
    if (this.#error !== undefined) return Promise.reject(this.#error);
    return new Promise((resolve, reject) => {
      this.#room = { resolve, reject };
    });
  }
}
