import { type ErrorCode, errorFacts } from './table.ts';

/** One fault in what somebody wrote: where, what, and what to do about it. */
export interface FieldProblem {
  readonly path: string;
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
}

export interface ErrorDetail {
  /** The faults of an invalid request; all of them, not the first. */
  readonly problems?: readonly FieldProblem[] | undefined;
  /** What a person needs to understand this occurrence: last log lines, candidates, ids. Never a secret. */
  readonly context?: Readonly<Record<string, unknown>> | undefined;
  /** Replaces the table's hint where this occurrence knows better. */
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

/**
 * The one error type. Foreign errors become one where they enter; what is thrown inside Caisson and is not one is a
 * defect and is answered as `internal` without its text.
 */
export class CaissonError extends Error {
  override readonly name = 'CaissonError';
  readonly code: ErrorCode;
  readonly problems: readonly FieldProblem[];
  readonly context: Readonly<Record<string, unknown>>;
  readonly hint: string;

  constructor(code: ErrorCode, message?: string, detail: ErrorDetail = {}) {
    const facts = errorFacts(code);
    super(message ?? facts.title, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.code = code;
    this.problems = detail.problems ?? [];
    this.context = detail.context ?? {};
    this.hint = detail.hint ?? facts.hint;
  }

  get kind() {
    return errorFacts(this.code).kind;
  }

  get status(): number {
    return errorFacts(this.code).status;
  }

  get retryable(): boolean {
    return errorFacts(this.code).retryable;
  }

  get exitCode(): number {
    return errorFacts(this.code).exitCode;
  }
}

export function hasCode(error: unknown, ...codes: ErrorCode[]): error is CaissonError {
  return error instanceof CaissonError && codes.includes(error.code);
}
