import type * as z from 'zod';
import { type SpecProblemCode, specProblemCodes } from '../spec-error.ts';
import { didYouMean } from './did-you-mean.ts';
import type { Problems } from './problems.ts';
import { pathOf, quote } from './quote.ts';
import { type ExpectedType, reportWrongType } from './wrong-type.ts';

/** Retells the issues of the blueprint schema as problems, in the words that the spec reader uses. */
export function addZodProblems(issues: readonly z.core.$ZodIssue[], input: unknown, problems: Problems): void {
  for (const issue of issues) addProblem(issue, input, problems);
}

const typeNames: Readonly<Record<string, ExpectedType>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

function addProblem(issue: z.core.$ZodIssue, input: unknown, problems: Problems): void {
  const path = pathFrom(issue.path);
  const value = valueAt(input, issue.path);
  switch (issue.code) {
    case 'unrecognized_keys':
      for (const key of issue.keys) {
        problems.add(pathOf(path, key), 'unknown_key', `${quote(key)} is not a key of a blueprint here.`);
      }
      return;
    case 'too_small':
    case 'too_big': {
      const limit = issue.code === 'too_small' ? `at least ${issue.minimum}` : `at most ${issue.maximum}`;
      if (issue.origin === 'array') problems.add(path, 'too_many', `The list may have ${limit} entries.`);
      else problems.add(path, 'out_of_range', `The number must be ${limit}.`);
      return;
    }
    case 'custom':
      problems.add(path, codeOf(issue.params?.code), issue.message, hintOf(issue.params?.hint));
      return;
    case 'invalid_value':
      addWrongWord(issue.values.map(String), value, path, problems);
      return;
    case 'invalid_union':
      addWrongWord('options' in issue ? (issue.options ?? []).map(String) : [], value, path, problems);
      return;
    case 'invalid_type':
      if (value === undefined) problems.add(path, 'required', 'A blueprint has this field always.');
      else reportWrongType(problems, path, value, typeNames[issue.expected] ?? issue.expected);
      return;
    default:
      problems.add(path, 'invalid_value', 'The value is not what a blueprint has here.');
  }
}

function addWrongWord(words: readonly string[], value: unknown, path: string, problems: Problems): void {
  if (value === undefined) problems.add(path, 'required', 'A blueprint has this field always.');
  else if (typeof value !== 'string')
    reportWrongType(problems, path, value, words.length > 0 ? 'a string' : 'an object');
  else {
    const allowed = words.map((word) => `\`${word}\``).join(', ');
    problems.add(path, 'invalid_value', `${quote(value)} is not one of ${allowed}.`, didYouMean(value, words));
  }
}

function pathFrom(segments: readonly PropertyKey[]): string {
  let path = '$';
  for (const segment of segments) {
    path = typeof segment === 'number' ? `${path}[${segment}]` : pathOf(path, String(segment));
  }
  return path;
}

function valueAt(input: unknown, segments: readonly PropertyKey[]): unknown {
  let value = input;
  for (const segment of segments) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Object.hasOwn(value, segment) ? (value as Record<PropertyKey, unknown>)[segment] : undefined;
  }
  return value;
}

function codeOf(code: unknown): SpecProblemCode {
  return specProblemCodes.find((known) => known === code) ?? 'invalid_value';
}

function hintOf(hint: unknown): string | undefined {
  return typeof hint === 'string' ? hint : undefined;
}
