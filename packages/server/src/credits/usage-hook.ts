import { setTimeout as sleep } from 'node:timers/promises';
import { CaissonError } from '@caisson/contract';
import { postSigned } from '../events/signed-post.ts';
import type { Store } from '../store/store.ts';

export interface UsageHookOptions {
  readonly url: string;
  /** Shared with the receiver. */
  readonly secret: string;
}

/** How long it waits for more to tell. */
const lookMs = 5_000;
const recordsPerPost = 100;
const firstRetryMs = 1_000;
/** Longer leaves the receiver without its records after it is back. */
const longestRetryMs = 300_000;
/** Fewer characters are guessed. */
const minSecret = 16;

/**
 * Tells somebody what was used, record by record in order, at least once. How far it has come is written down after the
 * receiver has taken a batch; one that is away gets everything when it is back.
 */
export class UsageHook {
  readonly #store: Pick<Store, 'usage' | 'installation'>;
  readonly #options: UsageHookOptions;
  readonly #warn: (error: unknown, what: string) => void;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;

  constructor(
    store: Pick<Store, 'usage' | 'installation'>,
    options: UsageHookOptions,
    warn: (error: unknown, what: string) => void,
  ) {
    this.#store = store;
    this.#options = checked(options);
    this.#warn = warn;
  }

  start(times: { readonly lookMs?: number; readonly retryMs?: number } = {}): void {
    this.#running = this.#run(times.lookMs ?? lookMs, times.retryMs ?? firstRetryMs);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(idleMs: number, retryMs: number): Promise<void> {
    const { signal } = this.#closing;
    let tries = 0;
    while (!signal.aborted) {
      let waitMs = idleMs;
      try {
        if (await this.#tell()) waitMs = 0;
        tries = 0;
      } catch (error) {
        if (signal.aborted) return;
        waitMs = Math.min(longestRetryMs, retryMs * 2 ** Math.min(tries, 20)) * (0.75 + Math.random() / 2);
        tries += 1;
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
    const { url, secret } = this.#options;
    const body = JSON.stringify({ installation, records });
    await postSigned({ url, secret, id: `${installation}-${after + 1}-${last.position}`, body }, this.#closing.signal);
    await usage.setTold(last.position);
    return true;
  }
}

function checked(options: UsageHookOptions): UsageHookOptions {
  const isHttp = URL.canParse(options.url) && /^https?:$/.test(new URL(options.url).protocol);
  if (!isHttp) throw new CaissonError('request_invalid', 'the usage hook must be an http or https URL');
  if (options.secret.length < minSecret)
    throw new CaissonError(
      'request_invalid',
      `the secret of the usage hook must have ${minSecret} characters or more`,
      {
        hint: 'Set CAISSON_USAGE_HOOK_SECRET, for example to the output of `openssl rand -hex 32`.',
      },
    );
  return options;
}
