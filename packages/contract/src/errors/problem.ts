import { z } from 'zod';
import { CaissonError } from './caisson-error.ts';
import { type ErrorCode, errorFacts, errorTable, isErrorCode } from './table.ts';

/** RFC 9457 `application/problem+json`, with the members that our clients read. */
export const problemSchema = z.object({
  type: z.string().describe('Stable URI of the error code.'),
  title: z.string(),
  status: z.int(),
  detail: z.string().describe('What happened this time.'),
  instance: z.string().optional().describe('The request id; logs carry the same.'),
  code: z.enum(Object.keys(errorTable) as [ErrorCode, ...ErrorCode[]]),
  hint: z.string().describe('What to do next.'),
  retryable: z.boolean(),
  problems: z
    .array(z.object({ path: z.string(), code: z.string(), message: z.string(), hint: z.string().optional() }))
    .optional(),
  context: z.record(z.string(), z.unknown()).optional(),
});

export type Problem = z.infer<typeof problemSchema>;
export const problemMediaType = 'application/problem+json';

export function toProblem(error: CaissonError, requestId?: string): Problem {
  const facts = errorFacts(error.code);
  return {
    type: `urn:caisson:error:${error.code}`,
    title: facts.title,
    status: facts.status,
    detail: error.message,
    code: error.code,
    hint: error.hint,
    retryable: facts.retryable,
    ...(requestId === undefined ? {} : { instance: requestId }),
    ...(error.problems.length === 0 ? {} : { problems: error.problems.map((problem) => ({ ...problem })) }),
    ...(Object.keys(error.context).length === 0 ? {} : { context: error.context }),
  };
}

/**
 * The error that a problem document stands for. A server may be newer than its client: a code that is not in our table
 * keeps its text and becomes the nearest thing we know, judged by its status.
 */
export function fromProblem(value: unknown, status: number): CaissonError {
  const loose = z
    .looseObject({ code: z.string(), detail: z.string(), hint: z.string(), title: z.string() })
    .partial()
    .safeParse(value);
  const given = loose.success ? loose.data : {};
  const strict = problemSchema.pick({ problems: true, context: true, instance: true }).partial().safeParse(value);
  const extra = strict.success ? strict.data : {};
  const code = isErrorCode(given.code) ? given.code : codeForStatus(status);
  return new CaissonError(code, given.detail ?? given.title ?? `the server answered ${status}`, {
    hint: given.hint,
    problems: extra.problems,
    context: {
      ...extra.context,
      ...(extra.instance === undefined ? {} : { requestId: extra.instance }),
      ...(given.code !== undefined && given.code !== code ? { serverCode: given.code } : {}),
    },
  });
}

function codeForStatus(status: number): ErrorCode {
  if (status === 401) return 'unauthenticated';
  if (status === 403) return 'scope_missing';
  if (status === 404) return 'route_not_found';
  if (status === 408 || status === 504) return 'request_timeout';
  if (status === 409) return 'invalid_state';
  if (status === 413) return 'body_too_large';
  if (status === 429) return 'rate_limited';
  if (status === 502 || status === 503) return 'server_unreachable';
  return status >= 400 && status < 500 ? 'request_invalid' : 'internal';
}
