import type { HeldSubject } from '../store/sinks.ts';

/** The longest that a timer of Node waits. */
const longestTimerMs = 2 ** 31 - 1;

/** Subjects that are held, and one timer for the one that is tried next. Each is handed out once until it is held again. */
export class HeldSubjects {
  readonly #held = new Map<string, HeldSubject>();
  readonly #resting = new Map<string, number>();
  /** Since when each is held, as far as this server knows. */
  readonly #since = new Map<string, number>();
  readonly #due: (subject: string) => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(due: (subject: string) => void) {
    this.#due = due;
  }

  get size(): number {
    return this.#held.size;
  }

  get since(): number | undefined {
    const [first] = this.#since.values();
    return first;
  }

  has(subject: string): boolean {
    return this.#held.has(subject);
  }

  get(subject: string): HeldSubject | undefined {
    return this.#held.get(subject);
  }

  /** `isAtWork`: whoever says so goes on with it; it is not handed out. */
  add(held: HeldSubject, { isAtWork = false } = {}): void {
    this.#held.set(held.subject, held);
    if (!this.#since.has(held.subject)) this.#since.set(held.subject, Date.now());
    if (isAtWork) return;
    this.#resting.set(held.subject, held.retryAt);
    this.#arm();
  }

  remove(subject: string): void {
    this.#held.delete(subject);
    this.#resting.delete(subject);
    this.#since.delete(subject);
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#resting.clear();
  }

  #arm(): void {
    clearTimeout(this.#timer);
    if (this.#resting.size === 0) return;
    const next = Math.min(...this.#resting.values());
    const ms = Math.max(0, Math.min(longestTimerMs, next - Date.now()));
    this.#timer = setTimeout(() => this.#handOut(), ms).unref();
  }

  #handOut(): void {
    const now = Date.now();
    for (const [subject, at] of [...this.#resting]) {
      if (at > now) continue;
      this.#resting.delete(subject);
      this.#due(subject);
    }
    this.#arm();
  }
}
