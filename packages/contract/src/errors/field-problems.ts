import type { z } from 'zod';
import { CaissonError, type FieldProblem } from './caisson-error.ts';
import type { ErrorCode } from './table.ts';

/** `spec.packages[2].version`; `$` is the whole value. */
export function formatPath(path: readonly PropertyKey[]): string {
  let text = '';
  for (const key of path) {
    if (typeof key === 'number') text += `[${key}]`;
    else text += text === '' ? String(key) : `.${String(key)}`;
  }
  return text === '' ? '$' : text;
}

/** No answer needs more faults than a person reads at once. */
const maxProblems = 100;

/** zod's issues as problems: one a fault, unknown keys one each, a union by the branch that came nearest. */
export function fieldProblems(
  issues: readonly z.core.$ZodIssue[],
  prefix: readonly PropertyKey[] = [],
): FieldProblem[] {
  return issues.flatMap((issue) => problemsOf(issue, prefix)).slice(0, maxProblems);
}

function problemsOf(issue: z.core.$ZodIssue, prefix: readonly PropertyKey[]): FieldProblem[] {
  const path = [...prefix, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, maxProblems).map((key) => ({
      path: formatPath([...path, cut(key)]),
      code: 'unknown_key',
      message: `\`${cut(key)}\` is not known here`,
    }));
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const nearest = [...issue.errors].sort((a, b) => depth(b) - depth(a) || a.length - b.length)[0] ?? [];
    if (depth(nearest) > 0) return fieldProblems(nearest, path);
  }
  return [{ path: formatPath(path), code: problemCode(issue), message: issue.message }];
}

/** A key comes from whoever wrote the request, and may be as long as the request. */
function cut(key: string): string {
  return key.length > 100 ? `${key.slice(0, 100)}…` : key;
}

function depth(issues: readonly z.core.$ZodIssue[]): number {
  return Math.max(0, ...issues.map((issue) => issue.path.length));
}

function problemCode(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return issue.input === undefined ? 'required' : 'wrong_type';
  if (issue.code === 'too_big') return 'too_large';
  if (issue.code === 'too_small') return 'too_small';
  return 'invalid_value';
}

/** Parses with a schema, or throws our one error with every problem in it. */
export function parseOrThrow<S extends z.ZodType>(
  schema: S,
  value: unknown,
  code: ErrorCode,
  what: string,
): z.output<S> {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  const problems = fieldProblems(parsed.error.issues);
  const first = problems[0];
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
  throw new CaissonError(code, `${what} is not valid: ${first?.path} ${first?.message}${more}`, { problems });
}
