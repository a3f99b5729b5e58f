import type { Problems } from './problems.ts';
import { quote } from './quote.ts';

export type ExpectedType = 'a string' | 'a number' | 'true or false' | 'a list' | 'an object' | (string & {});

/** Says what stands there, what belongs there, and how the value that was evidently meant is written. */
export function reportWrongType(problems: Problems, path: string, value: unknown, expected: ExpectedType): void {
  problems.add(
    path,
    'wrong_type',
    `Expected ${expected}, found ${describe(value)}.`,
    path === '$' ? undefined : hintFor(value, expected),
  );
}

function describe(value: unknown): string {
  if (value === null) return 'nothing (null)';
  if (Array.isArray(value)) return 'a list';
  switch (typeof value) {
    case 'string':
      return `the string ${quote(value)}`;
    case 'number':
      return `the number ${value}`;
    case 'boolean':
      return `${value}`;
    default:
      return 'an object';
  }
}

function hintFor(value: unknown, expected: ExpectedType): string | undefined {
  if (value === null) return 'Give it a value or leave the key out.';
  if (expected === 'a string' && (typeof value === 'number' || typeof value === 'boolean')) {
    return `Write it in quotes: "${value}".`;
  }
  if (typeof value !== 'string') return undefined;
  if (expected === 'a number' && value.trim() !== '' && Number.isFinite(Number(value))) {
    return `Write it without quotes: ${quote(value.trim()).slice(1, -1)}.`;
  }
  if (expected.startsWith('true or false')) {
    if (/^(?:true|yes|on)$/i.test(value)) return 'Write it without quotes: true.';
    if (/^(?:false|no|off)$/i.test(value)) return 'Write it without quotes: false.';
  }
  return undefined;
}
