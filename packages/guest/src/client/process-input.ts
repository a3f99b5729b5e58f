import { CaissonError } from '@caisson/contract';
import { limits } from '../protocol/limits.ts';
import type { GuestChannel } from './guest-channel.ts';
import type { GuestClient } from './guest-client.ts';
import { decodeResult, open } from './open-channel.ts';
import { ConnectionLost } from './translate-error.ts';

/** Made once: its stack says nothing. */
const left = new CaissonError('action_cancelled');

/**
 * Stdin of a process, written exactly once across connections. What the pipe has not taken is kept here, at most a
 * window of it, and sent again from there after a redial; the guest drops what it has written already.
 */
export class ProcessInput {
  readonly #client: GuestClient;
  readonly #id: string;
  /** Chunks that are not yet known to be in the pipe; the first begins at `#taken`. */
  readonly #kept: Uint8Array[] = [];
  #keptBytes = 0;
  #taken = 0;
  /** Whether `#taken` counts from the first byte that the process ever got. */
  #isKnown: boolean;
  #channel: GuestChannel | undefined;
  #isClosed = false;
  #turn: Promise<void> = Promise.resolve();
  #roomier: (() => void) | undefined;

  /** `isNew`: nobody has written to the process before. */
  constructor(client: GuestClient, id: string, isNew: boolean) {
    this.#client = client;
    this.#id = id;
    this.#isKnown = isNew;
  }

  /** Bytes that the process's pipe has taken. */
  get taken(): number {
    return this.#taken;
  }

  /** Whether everything that was written has been taken. */
  get isIdle(): boolean {
    return this.#keptBytes === 0;
  }

  /** Whether nothing more can be written: stdin is closed, or the process is gone. */
  get isOver(): boolean {
    const failed = this.#channel?.failed;
    return this.#isClosed || (failed !== undefined && !(failed instanceof ConnectionLost));
  }

  /** Lets go of it. Stdin stays open; what was not taken is dropped. */
  leave(): void {
    if (this.#channel?.failed === undefined) this.#channel?.cancel(left);
  }

  /** The offset after the last byte that was given to `write` and will reach the pipe while this object lives. */
  async accepted(): Promise<number> {
    await this.#learn();
    return this.#taken + this.#keptBytes;
  }

  /** Resolves when it has been sent and what is not yet taken fits a window: a process that reads slowly slows us. */
  async write(bytes: Uint8Array): Promise<void> {
    await this.#inTurn(async () => {
      for (let at = 0; at < bytes.byteLength; at += limits.dataAdvised) {
        if (this.#isClosed) throw new CaissonError('process_ended', 'stdin is closed');
        const part = bytes.subarray(at, at + limits.dataAdvised);
        // The first bytes must know where they begin before anything of them can be repeated.
        const channel = await this.#open();
        this.#kept.push(part);
        this.#keptBytes += part.byteLength;
        await this.#send(channel, part);
        while (this.#keptBytes > limits.windowInitial && !this.#isClosed) await this.#whenTaken();
      }
    });
  }

  /** Closes stdin, after everything written before. */
  async end(): Promise<void> {
    await this.#inTurn(async () => {
      while (!this.#isClosed) {
        try {
          const channel = await this.#open();
          channel.end();
          decodeResult('process.stdin', await channel.result);
          this.#isClosed = true;
        } catch (error) {
          if (!(error instanceof ConnectionLost)) throw error;
        }
      }
    });
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => {});
    return mine;
  }

  async #send(channel: GuestChannel, part: Uint8Array): Promise<void> {
    try {
      await channel.write(part);
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      // Opening again sends all that is kept, this part included.
      await this.#open();
    }
  }

  async #whenTaken(): Promise<void> {
    if (this.#channel?.failed !== undefined) {
      await this.#open();
      return;
    }
    await new Promise<void>((resolve) => {
      this.#roomier = resolve;
    });
  }

  async #open(): Promise<GuestChannel> {
    for (;;) {
      const current = this.#channel;
      if (current !== undefined && current.failed === undefined) return current;
      if (current?.failed !== undefined && !(current.failed instanceof ConnectionLost)) throw current.failed;
      const connection = await this.#client.connected();
      await this.#learn();
      try {
        const channel = open(connection, 'process.stdin', { id: this.#id, offset: this.#taken });
        this.#adopt(channel);
        for (const part of [...this.#kept]) await channel.write(part);
        return channel;
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
        await connection.closed;
      }
    }
  }

  /** Others may have written before this handle was made: its bytes begin after theirs. */
  async #learn(): Promise<void> {
    if (this.#isKnown) return;
    const [info] = await this.#client.processes.list({ id: this.#id });
    if (info === undefined) throw new CaissonError('process_not_found');
    this.#taken = info.stdinBytes;
    this.#isKnown = true;
  }

  #adopt(channel: GuestChannel): void {
    this.#channel = channel;
    channel.onCredit = (size) => this.#onTaken(size);
    const wake = () => {
      this.#roomier?.();
      this.#roomier = undefined;
    };
    channel.result
      .then((payload) => {
        const { closed, written } = decodeResult('process.stdin', payload);
        this.#taken = Math.max(this.#taken, written);
        if (closed) this.#isClosed = true;
      })
      // Whoever writes next learns of it; a guest that answers nonsense fails this channel and nothing else.
      .catch((error) => channel.fail(error))
      .finally(wake);
  }

  #onTaken(size: number): void {
    this.#taken += size;
    let left = size;
    while (left > 0) {
      const first = this.#kept[0];
      if (first === undefined) break;
      if (first.byteLength > left) {
        this.#kept[0] = first.subarray(left);
        this.#keptBytes -= left;
        break;
      }
      this.#kept.shift();
      this.#keptBytes -= first.byteLength;
      left -= first.byteLength;
    }
    this.#roomier?.();
    this.#roomier = undefined;
  }
}
