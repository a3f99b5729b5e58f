import { CaissonError } from '@caisson/contract';

/** Places for what stays open. Each holds a connection and some memory; one caller's must not take everybody's. */
export class OpenStreams {
  readonly #what: string;
  readonly #max: number;
  readonly #maxPerCaller: number;
  readonly #openByCaller = new Map<string, number>();
  #open = 0;

  constructor(what: string, max: number, maxPerCaller: number) {
    this.#what = what;
    this.#max = max;
    this.#maxPerCaller = maxPerCaller;
  }

  /** Refuses one too many, while there is still an answer to give. */
  requireRoom(caller: string): void {
    if (this.#open >= this.#max) {
      throw new CaissonError('too_many_streams', `there are ${this.#max} open ${this.#what}`);
    }
    if ((this.#openByCaller.get(caller) ?? 0) >= this.#maxPerCaller) {
      throw new CaissonError('too_many_streams', `you have ${this.#maxPerCaller} open ${this.#what}`);
    }
  }

  /** Takes a place; gives back how to leave it. */
  enter(caller: string): () => void {
    this.#open += 1;
    this.#openByCaller.set(caller, (this.#openByCaller.get(caller) ?? 0) + 1);
    return () => {
      this.#open -= 1;
      const left = (this.#openByCaller.get(caller) ?? 1) - 1;
      if (left === 0) this.#openByCaller.delete(caller);
      else this.#openByCaller.set(caller, left);
    };
  }
}

export const eventStreams = new OpenStreams('event streams', 1_000, 100);
/** Commands that are followed, attached terminals and watches: an agent may well have some hundred. */
export const liveStreams = new OpenStreams('streams into sandboxes', 4_000, 500);
