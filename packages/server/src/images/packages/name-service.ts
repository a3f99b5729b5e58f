import * as z from 'zod';
import { isNativeName } from './distributions.ts';
import type { PackagePlace } from './resolution.ts';

/** Asks some service what a word is called on a distribution. What it answers is not trusted. */
export interface PackageNameClient {
  lookup(word: string, place: PackagePlace, signal: AbortSignal): Promise<unknown>;
}

export interface PackageNameServiceOptions {
  readonly client: PackageNameClient;
  /** A name that moved is found again after this long. */
  readonly expiresAfterMs?: number;
  /** Longer, and a plan waits for somebody who is not needed. */
  readonly timeoutMs?: number;
  readonly maxKept?: number;
  readonly now?: () => number;
}

const answerSchema = z.array(z.string().max(256)).max(1_000);
const maxNames = 8;
const hour = 3_600_000;

/**
 * A name service that can never do harm: every answer is bounded and each name of it valid on the distribution,
 * failures are no answer, and a word is asked for once until it expires. Failures are kept too, for a shorter time,
 * so that a service that is away does not slow every plan.
 */
export class PackageNameService {
  readonly #client: PackageNameClient;
  readonly #expiresAfterMs: number;
  readonly #timeoutMs: number;
  readonly #maxKept: number;
  readonly #now: () => number;
  readonly #kept = new Map<string, { names: readonly string[]; until: number }>();

  constructor(options: PackageNameServiceOptions) {
    this.#client = options.client;
    this.#expiresAfterMs = options.expiresAfterMs ?? 24 * hour;
    this.#timeoutMs = options.timeoutMs ?? 3_000;
    this.#maxKept = options.maxKept ?? 1_000;
    this.#now = options.now ?? Date.now;
  }

  /** Native names that may be meant; none when the service does not know or does not answer. */
  async namesFor(word: string, place: PackagePlace, signal: AbortSignal): Promise<readonly string[]> {
    signal.throwIfAborted();
    const key = [place.distribution, place.release ?? '', word].join('\n');
    const kept = this.#kept.get(key);
    if (kept !== undefined && kept.until > this.#now()) return kept.names;
    this.#kept.delete(key);
    const answer = await this.#ask(word, place, signal);
    const names = answer === undefined ? [] : usable(answer, place);
    this.#keep(key, names, answer === undefined ? this.#expiresAfterMs / 100 : this.#expiresAfterMs);
    return names;
  }

  async #ask(word: string, place: PackagePlace, signal: AbortSignal): Promise<readonly string[] | undefined> {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(this.#timeoutMs)]);
    let stop = () => {};
    const ended = new Promise<undefined>((resolve) => {
      stop = () => resolve(undefined);
      limited.addEventListener('abort', stop, { once: true });
    });
    try {
      // A client that does not listen to the signal is left behind.
      const answer = await Promise.race([this.#client.lookup(word, place, limited), ended]);
      return answerSchema.safeParse(answer).data;
    } catch {
      // Whatever is wrong with the service, the catalog and the index have answered already.
      return undefined;
    } finally {
      limited.removeEventListener('abort', stop);
      signal.throwIfAborted();
    }
  }

  #keep(key: string, names: readonly string[], forMs: number): void {
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= this.#maxKept && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.set(key, { names, until: this.#now() + forMs });
  }
}

function usable(answer: readonly string[], place: PackagePlace): readonly string[] {
  const valid = answer.filter((name) => isNativeName(place.distribution, name));
  return [...new Set(valid)].sort().slice(0, maxNames);
}
