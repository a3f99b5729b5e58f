import { type InputValues, profileRef, type ResolvedProfile } from '@caisson/contract';
import { type Composed, compose } from './compose.ts';

const maxRemembered = 256;
/** Longer ones are rare, and few of them are asked twice. */
const maxKeyLength = 8_192;

/** Composes, and remembers: a framework asks for the same sandbox again and again, and the same words mean the same. */
export class Composer {
  readonly #remembered = new Map<string, Composed>();

  compose(
    profile: ResolvedProfile | undefined,
    inputs: InputValues,
    spec: Readonly<Record<string, unknown>>,
  ): Composed {
    // A published version of a profile never changes.
    const key = textOf([profile ? profileRef(profile) : null, inputs, spec]);
    const known = key === undefined ? undefined : this.#remembered.get(key);
    if (known) return known;
    const composed = compose(profile, inputs, spec);
    if (key !== undefined && key.length <= maxKeyLength) this.#remember(key, composed);
    return composed;
  }

  #remember(key: string, composed: Composed): void {
    this.#remembered.set(key, composed);
    const [oldest] = this.#remembered.keys();
    if (this.#remembered.size > maxRemembered && oldest !== undefined) this.#remembered.delete(oldest);
  }
}

/** Undefined for what is nested so deeply that it cannot be written; composing says what is wrong with it. */
function textOf(words: unknown): string | undefined {
  try {
    return JSON.stringify(words);
  } catch {
    return undefined;
  }
}
