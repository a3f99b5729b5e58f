import type { Id } from '@caisson/contract';
import type { Store } from '../store/store.ts';

/** More often than this nobody reads, and each line is a write. */
const everyMs = 200;
const maxChars = 500;

/** Tells what a long step is doing as events of its sandbox: the newest line, as often as a person can follow. */
export class Progress {
  readonly #store: Store;
  readonly #sandbox: Id<'sandbox'>;
  #pending: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(store: Store, sandbox: Id<'sandbox'>) {
    this.#store = store;
    this.#sandbox = sandbox;
  }

  readonly tell = (line: string): void => {
    this.#pending = line.slice(0, maxChars);
    this.#timer ??= setTimeout(() => this.#write(), everyMs);
  };

  /** Writes the last line; nothing comes after it. */
  async end(): Promise<void> {
    this.#write();
    await this.#writing;
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const line = this.#pending;
    this.#pending = undefined;
    if (line === undefined) return;
    // Progress that cannot be written is not worth failing for; the step itself says how it went.
    const write = () => this.#store.sandboxes.note(this.#sandbox, 'caisson.sandbox.progress', { line }).catch(() => {});
    this.#writing = this.#writing.then(write);
  }
}
