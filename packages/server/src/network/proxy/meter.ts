import type { Id, NetworkLimits } from '@caisson/contract';
import type { EgressJournal } from '../egress.ts';
import { TokenBucket } from './token-bucket.ts';

const MiB = 1024 * 1024;

/** Counts what moves out of and into one sandbox, and says when it is too much or too fast. */
export class Meter {
  readonly #sandbox: Id<'sandbox'>;
  readonly #journal: EgressJournal;
  readonly #onUsedUp: () => void;
  #bytes: TokenBucket | undefined;
  #openings: TokenBucket | undefined;
  #totalMax = Number.POSITIVE_INFINITY;
  /** Of its whole life; unknown until the journal was asked, which is only done where there is a limit. */
  #total: number | undefined;
  #sinceAsked = 0;
  #limits: NetworkLimits = {};

  constructor(sandbox: Id<'sandbox'>, journal: EgressJournal, onUsedUp: () => void) {
    this.#sandbox = sandbox;
    this.#journal = journal;
    this.#onUsedUp = onUsedUp;
  }

  /** Takes new limits. A limit that did not change goes on from where it was. */
  async limit(limits: NetworkLimits): Promise<void> {
    const now = performance.now();
    const before = this.#limits;
    this.#limits = limits;
    const { kibPerSecond, connectionsPerSecond, totalMiB } = limits;
    if (kibPerSecond !== before.kibPerSecond)
      this.#bytes = kibPerSecond === undefined ? undefined : new TokenBucket(kibPerSecond * 1024, now);
    if (connectionsPerSecond !== before.connectionsPerSecond)
      this.#openings = connectionsPerSecond === undefined ? undefined : new TokenBucket(connectionsPerSecond, now);
    this.#totalMax = totalMiB === undefined ? Number.POSITIVE_INFINITY : totalMiB * MiB;
    if (totalMiB !== undefined && this.#total === undefined) {
      this.#sinceAsked = 0;
      const total = await this.#journal.total(this.#sandbox);
      this.#total = total + this.#sinceAsked;
    }
  }

  get isUsedUp(): boolean {
    return this.#total !== undefined && this.#total >= this.#totalMax;
  }

  /** Whether one more connection or request may begin now. */
  mayOpen(): boolean {
    return this.#openings === undefined || this.#openings.tryTake(performance.now());
  }

  /** For how many milliseconds nothing new may begin: what begins sends a head whole, at any speed. */
  get restMs(): number {
    return this.#bytes?.restMs(performance.now()) ?? 0;
  }

  /** So many bytes moved; answers for how many milliseconds whoever moved them must rest. */
  moved(bytes: number): number {
    this.#sinceAsked += bytes;
    if (this.#total !== undefined) {
      this.#total += bytes;
      if (this.#total >= this.#totalMax) this.#onUsedUp();
    }
    return this.#bytes === undefined ? 0 : this.#bytes.spend(bytes, performance.now());
  }
}
