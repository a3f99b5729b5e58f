import * as z from 'zod';
import type { WorkspaceBlueprint } from './blueprint.ts';
import { type NormalizeOptions, normalize } from './spec/normalize.ts';
import { type UserWorkspaceSpec, userWorkspaceSpecShape } from './spec/user-shape.ts';

/**
 * The spec: what a person writes. Short forms and aliases are welcome, and every field of a blueprint is accepted too.
 *
 * Laws:
 * - Idempotent: a blueprint entered as a spec gives the same blueprint.
 * - Deterministic: the same spec, in any key order, gives byte-identical JSON.
 * - Every spelling of one intent gives the same blueprint.
 * - Whatever the input is, the outcome is a result or one `SpecError` with all problems, in bounded time.
 *
 *     normalizeUserWorkspaceSpec({ repo: 'https://github.com/a/b', packages: ['git', 'nodejs@20'], setup: 'npm ci' })
 *
 * The reader is written by hand and not as a schema: a union of schemas can only say that no branch matched, where a
 * reader knows which branch was meant, and it is several times as fast.
 */
export type { NormalizeOptions, UserWorkspaceSpec };

/** The one strict blueprint that a spec means. Throws `SpecError`. */
export function normalizeUserWorkspaceSpec(input: unknown, options: NormalizeOptions = {}): WorkspaceBlueprint {
  const { blueprint, problems } = normalize(input, options);
  if (blueprint === undefined || !problems.none) throw problems.toError();
  return blueprint;
}

/** The spec as it was written, in a plain copy, once it is known to be valid. Throws `SpecError`. */
export function parseUserWorkspaceSpec(input: unknown, options: NormalizeOptions = {}): UserWorkspaceSpec {
  const { copy, problems } = normalize(input, options);
  if (!problems.none) throw problems.toError();
  // No problem means that the reader accepted every part, and the reader accepts nothing outside the shape:
  // user-workspace-spec.property.test.ts holds the two together.
  return copy as UserWorkspaceSpec;
}

/**
 * The same judgement as a zod schema. Issues are the reader's problems, with code and hint in `params`; the shape
 * behind it describes the accepted forms, for documentation and `z.toJSONSchema(…, { io: 'input' })`.
 */
export const userWorkspaceSpecSchema = z.preprocess((input, context) => {
  const { copy, problems } = normalize(input);
  if (problems.none) return copy;
  for (const { path, code, message, hint } of problems.toError().problems) {
    context.addIssue({ code: 'custom', path: [path], message, params: { code, hint } });
  }
  return z.NEVER;
}, userWorkspaceSpecShape);
