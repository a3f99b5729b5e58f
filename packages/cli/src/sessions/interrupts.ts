/** A second Ctrl-C within this means "let me go"; after it, "interrupt it again". */
const leaveWithinMs = 1_000;

/** Ctrl-C interrupts the command; pressed twice within a second it leaves the command to itself. */
export class Interrupts {
  readonly #interrupt: () => void;
  readonly #leave: () => void;
  readonly #press = () => this.press(Date.now());
  #lastAt = Number.NEGATIVE_INFINITY;

  constructor(interrupt: () => void, leave: () => void) {
    this.#interrupt = interrupt;
    this.#leave = leave;
  }

  begin(): void {
    process.on('SIGINT', this.#press);
  }

  end(): void {
    process.off('SIGINT', this.#press);
  }

  press(now: number): void {
    const isSecond = now - this.#lastAt < leaveWithinMs;
    this.#lastAt = now;
    if (isSecond) this.#leave();
    else this.#interrupt();
  }
}
