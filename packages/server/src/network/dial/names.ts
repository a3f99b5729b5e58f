import type { Resolver } from '../egress.ts';

/** Long enough for the many requests of one command, short enough that nobody waits for a change. */
const freshMs = 5_000;
/** What was not found is asked again sooner. */
const unknownFreshMs = 1_000;
const cachedMax = 256;
/** Lookups at the same time. More would let one sandbox keep the name servers busy. */
const lookupsMax = 32;

interface Known {
  readonly addresses: readonly string[];
  readonly until: number;
}

/**
 * The names that one sandbox asks for. What is remembered is its own: a memory that all share would tell one what the
 * others look for.
 */
export class Names {
  readonly #resolver: Resolver;
  readonly #known = new Map<string, Known>();
  readonly #asked = new Map<string, Promise<readonly string[]>>();
  readonly #ended = new AbortController();

  constructor(resolver: Resolver) {
    this.#resolver = resolver;
  }

  /** Its addresses, none when it has none; undefined when too many are being looked up already. */
  async addresses(name: string): Promise<readonly string[] | undefined> {
    const known = this.#known.get(name);
    if (known && known.until > performance.now()) return known.addresses;
    const asked = this.#asked.get(name);
    if (asked) return asked;
    if (this.#asked.size >= lookupsMax) return undefined;
    const asking = this.#ask(name);
    this.#asked.set(name, asking);
    return asking;
  }

  close(): void {
    this.#ended.abort();
  }

  async #ask(name: string): Promise<readonly string[]> {
    try {
      const addresses = await this.#resolver.resolve(name, this.#ended.signal);
      this.#remember(name, addresses);
      return addresses;
    } catch {
      return [];
    } finally {
      this.#asked.delete(name);
    }
  }

  #remember(name: string, addresses: readonly string[]): void {
    this.#known.delete(name);
    const [oldest] = this.#known.keys();
    if (this.#known.size >= cachedMax && oldest !== undefined) this.#known.delete(oldest);
    const until = performance.now() + (addresses.length === 0 ? unknownFreshMs : freshMs);
    this.#known.set(name, { addresses, until });
  }
}
