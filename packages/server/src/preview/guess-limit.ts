/** How many wrong guesses there may be at once, and how many are forgiven in a second. */
export interface GuessRate {
  readonly burst: number;
  readonly perSecond: number;
}

interface Level {
  height: number;
  at: number;
}

/** Beyond this the oldest is forgotten: who has so many addresses is not held up by any of them. */
const maxKept = 20_000;

/** Counts what went wrong by who did it, and forgives with time. */
export class GuessLimit {
  readonly #rate: GuessRate;
  readonly #levels = new Map<string, Level>();

  constructor(rate: GuessRate) {
    this.#rate = rate;
  }

  /** Whether this one must wait before the next try. */
  isOver(key: string, now: number = Date.now()): boolean {
    const level = this.#levels.get(key);
    return level !== undefined && this.#heightOf(level, now) >= this.#rate.burst;
  }

  count(key: string, now: number = Date.now()): void {
    const level = this.#levels.get(key) ?? { height: 0, at: now };
    level.height = Math.min(this.#rate.burst + 1, this.#heightOf(level, now) + 1);
    level.at = now;
    // At its end again: the map is in the order of use.
    this.#levels.delete(key);
    this.#levels.set(key, level);
    if (this.#levels.size <= maxKept) return;
    const oldest = this.#levels.keys().next();
    if (!oldest.done) this.#levels.delete(oldest.value);
  }

  #heightOf(level: Level, now: number): number {
    return Math.max(0, level.height - (Math.max(0, now - level.at) / 1000) * this.#rate.perSecond);
  }
}

/** One household of addresses: whoever has an IPv6 address has 2^64 of them. */
export function addressKey(address: string): string {
  if (!address.includes(':')) return address;
  const plain = address.toLowerCase().replace(/%.*$/, '');
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(plain);
  if (mapped?.[1]) return mapped[1];
  const [head = '', tail] = plain.split('::', 2);
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const after = tail === '' ? [] : tail.split(':');
    while (groups.length + after.length < 8) groups.push('0');
    groups.push(...after);
  }
  return groups.slice(0, 4).join(':');
}
