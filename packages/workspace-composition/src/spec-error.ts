/**
 * The one error this package throws about what a person wrote.
 *
 * Laws: every problem of a spec is reported, not the first only; one fault gives one problem; a problem's path reads
 * like the spec itself (`tooling.packages[2].version`, `$` for the whole); the codes are a closed list.
 */
export const specProblemCodes = [
  'unknown_key',
  'forbidden_key',
  'required',
  'wrong_type',
  'invalid_value',
  'out_of_range',
  'conflict',
  'duplicate',
  'version_conflict',
  'invalid_unicode',
  'control_character',
  'too_long',
  'too_many',
  'too_deep',
  'too_large',
  'more_problems',
] as const;

export type SpecProblemCode = (typeof specProblemCodes)[number];

export interface SpecProblem {
  /** Where, as the spec spells it: `lifecycle.setup[0].run`, or `$` for the whole spec. */
  path: string;
  code: SpecProblemCode;
  /** A sentence for a person. Never quotes more than a short, escaped piece of the input. */
  message: string;
  /** What to write instead, when that can be told. */
  hint?: string;
}

export class SpecError extends Error {
  readonly code = 'spec_invalid' as const;
  readonly problems: readonly SpecProblem[];

  constructor(problems: readonly SpecProblem[]) {
    super(summary(problems));
    this.name = 'SpecError';
    this.problems = problems;
  }
}

function summary(problems: readonly SpecProblem[]): string {
  const lines = problems.map(({ path, message, hint }) => `${path}: ${message}${hint === undefined ? '' : ` ${hint}`}`);
  return lines.length === 1 ? `${lines[0]}` : `The spec has several problems.\n${lines.join('\n')}`;
}
