import { CaissonError } from '@caisson/contract';
import { limits } from '../protocol/limits.ts';
import type { GuestChannel } from './guest-channel.ts';
import type { GuestClient } from './guest-client.ts';
import type { GuestConnection } from './guest-connection.ts';
import { decodeResult, open } from './open-channel.ts';
import { ConnectionLost } from './translate-error.ts';

/** Made once: its stack says nothing, and making one for each command costs more than the rest of its end. */
const stopped = new CaissonError('action_cancelled');

/** One ring's worth, so that the ring and not a round trip sets the pace. */
const outputWindow = limits.ringDefault;

/**
 * One output stream of a process, exactly once, across connections: each byte is yielded once and in order, or counted in
 * `lost` where the ring dropped it while nobody was attached. One reader. Not reading makes the process wait.
 */
export class ProcessOutput implements AsyncIterable<Uint8Array> {
  readonly #client: GuestClient;
  readonly #id: string;
  readonly #stream: 'stdout' | 'stderr';
  #offset: number;
  #lost = 0;
  #channel: GuestChannel | undefined;
  #isStopped = false;
  /** Bytes are kept in the guest until `seen` says that they have arrived: for readers that may have to read them again. */
  isConfirmed = false;

  constructor(client: GuestClient, id: string, stream: 'stdout' | 'stderr', from: number) {
    this.#client = client;
    this.#id = id;
    this.#stream = stream;
    this.#offset = from;
  }

  /** The first byte that has not been yielded. */
  get offset(): number {
    return this.#offset;
  }

  /** Bytes that were dropped before they could be read. */
  get lost(): number {
    return this.#lost;
  }

  /** Attaches on this connection now, ahead of the first read. */
  attachTo(connection: GuestConnection): void {
    const params = { id: this.#id, stream: this.#stream, from: this.#offset };
    this.#channel = open(connection, 'process.attach', params, { window: outputWindow });
    this.#channel.holdsCredit = this.isConfirmed;
  }

  /** So many more bytes have arrived where they were going. */
  seen(bytes: number): void {
    if (this.#channel?.failed === undefined) this.#channel?.seen(bytes);
  }

  /** Ends the reading; the process is not touched. */
  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    if (this.#channel?.failed === undefined) this.#channel?.cancel(stopped);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    while (!this.#isStopped) {
      try {
        if (this.#channel === undefined) this.attachTo(await this.#client.connected());
        const channel = this.#channel;
        if (channel === undefined) return;
        const { at, lost } = decodeResult('process.attach', await channel.result);
        if (at < this.#offset || at - lost !== this.#offset) throw new CaissonError('guest_failed', 'a wrong offset');
        this.#lost += lost;
        this.#offset = at;
        for (let chunk = await channel.read(); chunk !== undefined; chunk = await channel.read()) {
          this.#offset += chunk.byteLength;
          yield chunk;
          if (this.#isStopped) return;
        }
        return;
      } catch (error) {
        if (this.#isStopped) return;
        if (!(error instanceof ConnectionLost)) throw error;
        this.#channel = undefined;
      }
    }
  }
}
