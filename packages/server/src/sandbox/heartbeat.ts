import { CaissonError } from '@caisson/contract';
import type { Logger } from '../telemetry/log.ts';
import type { Repair } from './healing/repair.ts';
import type { Reconciler } from './reconciler.ts';

/** Runs the reconciler at start-up and again some seconds after each pass has ended, until it is stopped. */
export class Heartbeat {
  readonly #reconciler: Reconciler;
  readonly #log: Logger;
  readonly #repaired: (repair: Repair) => void;
  readonly #everyMs: number;
  #timer: NodeJS.Timeout | undefined;
  #passing: Promise<void> = Promise.resolve();
  #stopped = false;
  #wentWellAt = performance.now();
  #notReady: string | undefined = 'what an earlier server left unfinished is being looked at';

  constructor(reconciler: Reconciler, log: Logger, repaired: (repair: Repair) => void, everyMs: number) {
    this.#reconciler = reconciler;
    this.#log = log;
    this.#repaired = repaired;
    this.#everyMs = everyMs;
  }

  /** Resolves after the first pass. */
  start(): Promise<void> {
    return this.#beat();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#passing;
  }

  /** Seconds since the last pass that went well; before the first since the start. */
  get secondsAgo(): number {
    return (performance.now() - this.#wentWellAt) / 1000;
  }

  notReady(): string[] {
    if (this.#stopped) return ['the server is shutting down'];
    return this.#notReady === undefined ? [] : [this.#notReady];
  }

  #beat(): Promise<void> {
    this.#passing = this.#pass().finally(() => {
      if (!this.#stopped) this.#timer = setTimeout(() => this.#beat(), this.#everyMs);
    });
    return this.#passing;
  }

  async #pass(): Promise<void> {
    try {
      for (const repair of await this.#reconciler.pass()) {
        this.#repaired(repair);
        this.#log.warn(repair, 'repair');
      }
      this.#notReady = undefined;
      this.#wentWellAt = performance.now();
    } catch (error) {
      this.#notReady = error instanceof CaissonError ? error.message : 'the last pass of the reconciler failed';
      this.#log.error({ err: error }, 'the reconciler failed');
    }
  }
}
