import { InvalidArgumentError } from 'commander';

export const defaultDetachKeys = 'ctrl-p,ctrl-q';

/** `ctrl-p,ctrl-q` → the bytes that a terminal sends for it; nothing for `none`. */
export function parseDetachKeys(text: string): Buffer {
  if (text === '' || text === 'none') return Buffer.alloc(0);
  const bytes = text.split(',').map((key) => {
    const control = /^ctrl-([a-z@[\\\]^_])$/i.exec(key)?.[1];
    if (control !== undefined) return control.toUpperCase().charCodeAt(0) & 0x1f;
    if (/^[\x21-\x7e]$/.test(key)) return key.charCodeAt(0);
    throw new InvalidArgumentError('Write it as ctrl-p,ctrl-q: keys with commas between, or none.');
  });
  return Buffer.from(bytes);
}

/**
 * Finds the keys that detach in what is typed. The beginning of the sequence is held back until the next key shows
 * whether it goes on; a key that does not fit gives everything back in its order.
 */
export class DetachKeys {
  readonly #keys: Buffer;
  #matched = 0;

  constructor(keys: Buffer) {
    this.#keys = keys;
  }

  /** What to pass on, and whether the sequence is complete. What was typed after it is dropped. */
  take(typed: Uint8Array): { pass: Buffer; isComplete: boolean } {
    const pass: number[] = [];
    for (const byte of typed) {
      if (byte === this.#keys[this.#matched]) {
        this.#matched += 1;
        if (this.#matched === this.#keys.length) return { pass: Buffer.from(pass), isComplete: true };
        continue;
      }
      pass.push(...this.#giveUp(byte));
    }
    return { pass: Buffer.from(pass), isComplete: false };
  }

  /** The held keys did not go on as they should; the newest may begin the sequence anew. */
  #giveUp(byte: number): number[] {
    const held = [...this.#keys.subarray(0, this.#matched), byte];
    for (let keep = this.#matched; keep > 0; keep -= 1) {
      const tail = Buffer.from(held.slice(held.length - keep));
      if (!tail.equals(this.#keys.subarray(0, keep))) continue;
      this.#matched = keep;
      return held.slice(0, held.length - keep);
    }
    this.#matched = 0;
    return held;
  }
}
