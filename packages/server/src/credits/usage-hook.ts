import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../store/backoff.ts';
import { longestBackoffMs } from '../store/jobs.ts';
import type { Store } from '../store/store.ts';

/** What takes a batch to its receiver, signed; rejects unless that has taken it. */
export interface UsagePoster {
  post(
    batch: { readonly id: string; readonly contentType: string; readonly body: string },
    signal: AbortSignal,
  ): Promise<unknown>;
  close(): Promise<void>;
}

/** How long it waits for more to tell. */
const lookMs = 5_000;
const recordsPerPost = 100;

/**
 * Tells somebody what was used, record by record in order, at least once. How far it has come is written down after the
 * receiver has taken a batch; one that is away gets everything when it is back.
 */
export class UsageHook {
  readonly #store: Pick<Store, 'usage' | 'installation'>;
  readonly #poster: UsagePoster;
  readonly #warn: (error: unknown, what: string) => void;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;

  constructor(
    store: Pick<Store, 'usage' | 'installation'>,
    poster: UsagePoster,
    warn: (error: unknown, what: string) => void,
  ) {
    this.#store = store;
    this.#poster = poster;
    this.#warn = warn;
  }

  /** `times`: in place of the usual ones, for tests. */
  start(times: { readonly lookMs?: number; retryMs?(tries: number): number } = {}): void {
    const retryMs = times.retryMs ?? ((tries: number) => backoffMs(tries, longestBackoffMs));
    this.#running = this.#run(times.lookMs ?? lookMs, retryMs);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
    await this.#poster.close();
  }

  async #run(idleMs: number, retryMs: (tries: number) => number): Promise<void> {
    const { signal } = this.#closing;
    let tries = 0;
    while (!signal.aborted) {
      let waitMs = idleMs;
      try {
        if (await this.#tell()) waitMs = 0;
        tries = 0;
      } catch (error) {
        if (signal.aborted) return;
        tries += 1;
        waitMs = retryMs(tries);
        this.#warn(error, `usage could not be told; tried again in ${Math.round(waitMs / 1000)} s`);
      }
      await sleep(waitMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  /** The next batch. False when there is nothing to tell. */
  async #tell(): Promise<boolean> {
    const { usage, installation } = this.#store;
    const after = await usage.told();
    const records = await usage.list({ after, limit: recordsPerPost });
    const last = records.at(-1);
    if (!last) return false;
    const body = JSON.stringify({ installation, records });
    const id = `${installation}-${after + 1}-${last.position}`;
    await this.#poster.post({ id, contentType: 'application/json', body }, this.#closing.signal);
    await usage.setTold(last.position);
    return true;
  }
}
