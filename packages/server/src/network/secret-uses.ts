import type { Id } from '@caisson/contract';

export interface SecretUse {
  readonly sandbox: Id<'sandbox'>;
  readonly secret: string;
  readonly host: string;
  readonly count: number;
}

/** A program that asks a thousand times a minute would bury every other event. */
const everyMs = 60_000;
/** Some megabytes. A secret of `*.example.com` goes to as many hosts as a program makes up. */
const maxKept = 10_000;

/**
 * Uses of secrets on their way to the log of events: the first of a secret and host at once, those of the minute after it
 * together when it is over. None is lost, and none is told twice.
 */
export class SecretUses {
  readonly #uses = new Map<string, { use: SecretUse; count: number; dueAt: number }>();

  get isEmpty(): boolean {
    return this.#uses.size === 0;
  }

  used(sandbox: Id<'sandbox'>, secret: string, host: string, count = 1): void {
    const key = `${sandbox} ${secret} ${host}`;
    const present = this.#uses.get(key);
    if (present) present.count += count;
    else if (this.#uses.size >= maxKept && host !== '*') this.used(sandbox, secret, '*', count);
    else this.#uses.set(key, { use: { sandbox, secret, host, count }, count, dueAt: 0 });
  }

  /** Those to tell now; with `all` also those whose minute is not over. */
  take(now: number, all = false): SecretUse[] {
    const due: SecretUse[] = [];
    for (const [key, one] of this.#uses) {
      if (!all && now < one.dueAt) continue;
      if (one.count === 0) this.#uses.delete(key);
      else due.push({ ...one.use, count: one.count });
      one.count = 0;
      one.dueAt = now + everyMs;
    }
    return due;
  }

  /** What could not be told is told the next time. */
  putBack({ sandbox, secret, host, count }: SecretUse): void {
    this.used(sandbox, secret, host, count);
    const kept = this.#uses.get(`${sandbox} ${secret} ${host}`);
    if (kept) kept.dueAt = 0;
  }
}
