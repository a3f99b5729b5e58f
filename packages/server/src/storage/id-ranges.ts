import type { IdRange } from './storage.ts';

/** As many as a system's own tools expect to find: everything up to `nobody`. */
const idsPerRange = 65_536;

/**
 * Above what machines give to people, services and the id maps of their users, and below the end of the numbers. There
 * is room for 28,671 sandboxes on a machine.
 */
const firstRange = 0x8000;
const lastRange = 0xeffe;

/** Which ranges of ids are taken. What is taken is written down by whoever holds the rootfs; this is only the arithmetic. */
export class IdRanges {
  readonly #taken = new Set<number>();
  #next: number;

  /** Two servers on a machine begin at different places, so that they do not meet soon. */
  constructor(seed: string) {
    let hash = 0;
    for (const char of seed) hash = (Math.imul(hash, 31) + char.charCodeAt(0)) >>> 0;
    this.#next = firstRange + (hash % (lastRange - firstRange + 1));
  }

  /** A range that nobody has; undefined when there is none. */
  take(): IdRange | undefined {
    for (let tries = firstRange; tries <= lastRange; tries += 1) {
      const candidate = this.#next;
      this.#next = candidate === lastRange ? firstRange : candidate + 1;
      if (this.#taken.has(candidate)) continue;
      this.#taken.add(candidate);
      return { first: candidate * idsPerRange, count: idsPerRange };
    }
    return undefined;
  }

  /** Somebody has it already. */
  mark({ first }: IdRange): void {
    this.#taken.add(first / idsPerRange);
  }

  release({ first }: IdRange): void {
    this.#taken.delete(first / idsPerRange);
  }
}
