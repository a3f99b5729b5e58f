import type { Id } from '@caisson/contract';
import type { EgressJournal } from '../egress.ts';
import type { Meter } from './meter.ts';

/** The bytes between one passage and its host, on their way into the journal. */
export class Account {
  readonly #sandbox: Id<'sandbox'>;
  readonly #journal: EgressJournal;
  readonly #meter: Meter;
  readonly #host: string;
  #sent = 0;
  #received = 0;
  #connections = 0;
  /** When bytes last moved. */
  movedAt = performance.now();

  constructor(sandbox: Id<'sandbox'>, journal: EgressJournal, meter: Meter, host: string) {
    this.#sandbox = sandbox;
    this.#journal = journal;
    this.#meter = meter;
    this.#host = host;
  }

  /** Bytes went to the host; answers how long to rest, in milliseconds. */
  readonly sent = (bytes: number): number => {
    this.#sent += bytes;
    this.movedAt = performance.now();
    return this.#meter.moved(bytes);
  };

  readonly received = (bytes: number): number => {
    this.#received += bytes;
    this.movedAt = performance.now();
    return this.#meter.moved(bytes);
  };

  connected(): void {
    this.#connections += 1;
  }

  /** Writes into the journal what it does not have yet. */
  flush(): void {
    if (this.#sent === 0 && this.#received === 0 && this.#connections === 0) return;
    const moved = { sentBytes: this.#sent, receivedBytes: this.#received, connections: this.#connections };
    this.#sent = 0;
    this.#received = 0;
    this.#connections = 0;
    this.#journal.moved(this.#sandbox, this.#host, moved);
  }
}
