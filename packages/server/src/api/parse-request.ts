import { CaissonError, type ErrorCode, type FieldProblem, fieldProblems, type Route } from '@caisson/contract';
import type { z } from 'zod';

/** An id that cannot be one is answered like one that does not exist. */
const notFound: Record<NonNullable<Route['owned']>, ErrorCode> = {
  sandbox: 'sandbox_not_found',
  key: 'key_not_found',
  job: 'job_not_found',
  build: 'build_not_found',
  attempt: 'attempt_not_found',
  snapshot: 'snapshot_not_found',
};

interface Raw {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/** The three parts of a request as its route describes them, or every problem of all three. */
export function parseRequest(route: Route, raw: Raw): Raw {
  const problems: FieldProblem[] = [];
  const params = parse(route.params, raw.params, ['params'], problems) ?? {};
  if (route.owned && problems.length > 0) throw new CaissonError(notFound[route.owned], 'there is no such id');
  const query = parse(route.query, raw.query, ['query'], problems) ?? {};
  const body = parse(route.body, raw.body ?? {}, [], problems);
  const [first] = problems;
  if (!first) return { params, query, body };
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
  throw new CaissonError('request_invalid', `${first.path}: ${first.message}${more}`, { problems });
}

function parse(
  schema: z.ZodType | undefined,
  value: unknown,
  where: readonly string[],
  problems: FieldProblem[],
): unknown {
  if (!schema) return undefined;
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  problems.push(...fieldProblems(parsed.error.issues, where));
  return undefined;
}
