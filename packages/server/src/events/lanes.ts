import type { CaissonEvent } from '@caisson/contract';

/**
 * Events that were read and are not delivered yet, in one lane for each subject. The head of a lane is the one that may be
 * delivered; the others wait for it.
 *
 * Law: events come in the order of their positions, so the first that is left is the one with the smallest.
 */
export class Lanes {
  readonly #lanes = new Map<string, CaissonEvent[]>();
  /** When each happened, in the order of their positions. */
  readonly #positions = new Map<number, string>();

  get size(): number {
    return this.#positions.size;
  }

  /** When the oldest happened. */
  get since(): number | undefined {
    const [first] = this.#positions.values();
    return first === undefined ? undefined : Date.parse(first);
  }

  /** True when it begins a lane: whoever delivers has to be told of it. */
  add(event: CaissonEvent): boolean {
    this.#positions.set(event.position, event.time);
    const lane = this.#lanes.get(event.subject);
    if (lane) lane.push(event);
    else this.#lanes.set(event.subject, [event]);
    return lane === undefined;
  }

  head(subject: string): CaissonEvent | undefined {
    return this.#lanes.get(subject)?.[0];
  }

  /** The head is delivered; the next one comes forward. */
  done(subject: string): void {
    const lane = this.#lanes.get(subject);
    const head = lane?.shift();
    if (head) this.#positions.delete(head.position);
    if (lane?.length === 0) this.#lanes.delete(subject);
  }

  /** Somebody else answers for everything of it. */
  drop(subject: string): void {
    for (const { position } of this.#lanes.get(subject) ?? []) this.#positions.delete(position);
    this.#lanes.delete(subject);
  }

  /** Up to here nothing is left, where everything up to `read` has been added. */
  settled(read: number): number {
    const [first] = this.#positions.keys();
    return first === undefined ? read : first - 1;
  }
}
