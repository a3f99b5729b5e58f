import type { BuildEvent } from '../builder.ts';

/** How long a step may take: aborts its signal when one takes longer. */
export class StepLimit {
  readonly ms: number;
  readonly #over = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.ms = ms;
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Looks at what happens and passes it on. */
  watching(tell: (event: BuildEvent) => void): (event: BuildEvent) => void {
    return (event) => {
      if (event.kind !== 'output') this.close();
      if (event.kind === 'step-began') {
        this.#timer = setTimeout(() => this.#over.abort(), this.ms);
        this.#timer.unref();
      }
      tell(event);
    };
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}
