/** So many in any second, and as many at once as one second allows. Time comes in as milliseconds of any steady clock. */
export class TokenBucket {
  readonly #perSecond: number;
  #left: number;
  #at: number;

  constructor(perSecond: number, now: number) {
    this.#perSecond = perSecond;
    this.#left = perSecond;
    this.#at = now;
  }

  /** Takes one if there is one. */
  tryTake(now: number): boolean {
    this.#refill(now);
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }

  /** Takes what was used already, and says for how many milliseconds nothing more may be. */
  spend(amount: number, now: number): number {
    this.#refill(now);
    this.#left -= amount;
    return this.#left >= 0 ? 0 : (-this.#left / this.#perSecond) * 1000;
  }

  /** For how many milliseconds nothing more may be. */
  restMs(now: number): number {
    return this.spend(0, now);
  }

  #refill(now: number): void {
    if (now <= this.#at) return;
    this.#left = Math.min(this.#perSecond, this.#left + ((now - this.#at) / 1000) * this.#perSecond);
    this.#at = now;
  }
}
