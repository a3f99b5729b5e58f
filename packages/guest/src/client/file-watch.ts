import type { MethodRecord, Params } from '../protocol/methods.ts';
import type { GuestChannel } from './guest-channel.ts';
import type { GuestClient } from './guest-client.ts';
import { open } from './open-channel.ts';
import { ConnectionLost, fromAbort } from './translate-error.ts';

export type WatchEvent = MethodRecord<'file.watch'>['events'][number];

/** `overflow`: changes were lost before these events, so whoever keeps a picture of the tree must scan it again. */
export interface WatchBatch {
  readonly events: readonly WatchEvent[];
  readonly overflow: boolean;
}

/** Changes below a directory. A lost connection is an overflow: the watch begins again, and what was missed is unknown. */
export class FileWatch implements AsyncIterable<WatchBatch> {
  readonly #client: GuestClient;
  readonly #params: Params<'file.watch'>;
  readonly #signal: AbortSignal | undefined;
  #channel: GuestChannel;
  #isClosed = false;

  private constructor(
    client: GuestClient,
    params: Params<'file.watch'>,
    signal: AbortSignal | undefined,
    channel: GuestChannel,
  ) {
    this.#client = client;
    this.#params = params;
    this.#signal = signal;
    this.#channel = channel;
  }

  static async begin(client: GuestClient, params: Params<'file.watch'>, signal?: AbortSignal): Promise<FileWatch> {
    return new FileWatch(client, params, signal, await openWatch(client, params, signal));
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#channel.cancel(new Error('the watch was closed'));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WatchBatch> {
    try {
      while (!this.#isClosed) {
        try {
          for await (const batch of this.#channel.records<WatchBatch>()) {
            yield batch;
            if (this.#isClosed) return;
          }
          return;
        } catch (error) {
          if (this.#isClosed) return;
          if (this.#signal?.aborted === true) throw fromAbort(this.#signal);
          if (!(error instanceof ConnectionLost)) throw error;
          this.#channel = await openWatch(this.#client, this.#params, this.#signal);
          yield { events: [], overflow: true };
        }
      }
    } finally {
      this.close();
    }
  }
}

async function openWatch(client: GuestClient, params: Params<'file.watch'>, signal: AbortSignal | undefined) {
  for (;;) {
    const connection = await client.connected(signal);
    try {
      const channel = open(connection, 'file.watch', params);
      channel.obey(signal);
      await channel.result;
      return channel;
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      await connection.closed;
    }
  }
}
