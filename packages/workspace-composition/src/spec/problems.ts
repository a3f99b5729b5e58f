import { SpecError, type SpecProblem, type SpecProblemCode } from '../spec-error.ts';

/** What is wrong with a value, before it is known where the value stands. */
export interface Fault {
  code: SpecProblemCode;
  message: string;
  hint?: string;
}

/** More than anyone reads at once; fewer would make a person fix a long spec in several rounds. */
export const maxProblems = 100;

/** Collects the problems of one spec in reading order. Past the limit it only counts, so that a hostile spec stays cheap. */
export class Problems {
  #kept: SpecProblem[] = [];
  #dropped = 0;

  get none(): boolean {
    return this.#kept.length === 0;
  }

  /** When full, whoever reports may skip work that only makes a message better. */
  get full(): boolean {
    return this.#kept.length >= maxProblems;
  }

  add(path: string, code: SpecProblemCode, message: string, hint?: string): void {
    if (this.full) this.#dropped += 1;
    else this.#kept.push(hint === undefined ? { path, code, message } : { path, code, message, hint });
  }

  addFault(path: string, fault: Fault): void {
    this.add(path, fault.code, fault.message, fault.hint);
  }

  toError(): SpecError {
    if (this.#dropped === 0) return new SpecError(this.#kept);
    const rest: SpecProblem = {
      path: '$',
      code: 'more_problems',
      message: `${this.#dropped} more problems not shown.`,
    };
    return new SpecError([...this.#kept, rest]);
  }
}
