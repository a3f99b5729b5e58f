import { componentErrors } from './component-errors.ts';
import { type ErrorRow, errorKinds } from './kinds.ts';
import { requestErrors } from './request-errors.ts';
import { sandboxErrors } from './sandbox-errors.ts';

/**
 * Every error that Caisson can answer, in one table. HTTP, CLI, SDK and `docs/errors.md` render from it.
 *
 * Laws
 * - A code means one thing for ever; it is renamed by adding a new one.
 * - `retryable` says that the very same request may succeed later without anybody changing anything.
 * - `hint` says what to do next. The message of a single occurrence says what happened; the hint is the same each time.
 * - `not_supported` is a kind. A code under it names the ability that is missing.
 */

export const errorTable = { ...requestErrors, ...sandboxErrors, ...componentErrors } as const satisfies Record<
  string,
  ErrorRow
>;

export type ErrorCode = keyof typeof errorTable;

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(errorTable, value);
}

/** One code with everything that follows from its kind. */
export function errorFacts(code: ErrorCode) {
  const facts: ErrorRow = errorTable[code];
  const kind = errorKinds[facts.kind];
  return { code, ...facts, status: facts.status ?? kind.status, exitCode: kind.exitCode };
}
