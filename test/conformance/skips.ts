import type { TestContext } from 'vitest';

/** A test of a shared suite that a backend cannot pass, and why. Declared, so that nobody takes silence for success. */
export interface DeclaredSkip {
  readonly test: string;
  readonly reason: string;
}

declare module 'vitest' {
  interface TaskMeta {
    skipReason?: string;
    /** A declared skip is a fact about a backend; every other skip is a failure on CI. */
    skipOnCi?: boolean;
  }
}

export function skip(context: TestContext, reason: string, onCi = false): never {
  Object.assign(context.task.meta, { skipReason: reason, skipOnCi: onCi });
  return context.skip(reason);
}

/**
 * Wraps a suite's tests with the skips its caller declared. A declared skip that names no test is itself a failure, or
 * a renamed test would be skipped for ever.
 */
export function withSkips(declared: readonly DeclaredSkip[]) {
  const unknown = new Set(declared.map((entry) => entry.test));
  return {
    begin(name: string, context: TestContext): void {
      const found = declared.find((entry) => entry.test === name);
      if (found) skip(context, found.reason, true);
    },
    know(name: string): void {
      unknown.delete(name);
    },
    unknown: (): string[] => [...unknown],
  };
}
