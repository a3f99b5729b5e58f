import type { CaissonError } from '@caisson/contract';
import { printable, printableLines } from './printable.ts';

/** Longer values of the context are for `--json`. */
const maxValueChars = 500;

/** What happened, each problem with its place, what is known besides, and what to do next. */
export function errorText(error: CaissonError): string {
  const [first = '', ...more] = printableLines(error.message);
  const lines = [`error: ${first}`, ...more.map((line) => `  ${line}`)];
  for (const { path, message, hint } of error.problems) {
    lines.push(`  ${printable(path)}: ${printable(message)}`);
    if (hint !== undefined) lines.push(`    ${printable(hint)}`);
  }
  for (const [name, value] of Object.entries(error.context)) lines.push(...contextLines(name, value));
  lines.push(`code: ${error.code}`, `next: ${printable(error.hint)}`);
  return lines.join('\n');
}

function contextLines(name: string, value: unknown): string[] {
  if (value === null || value === undefined || value === '') return [];
  if (typeof value === 'string') return block(name, printableLines(value));
  if (typeof value !== 'object') return [`  ${name}: ${String(value)}`];
  if (Array.isArray(value)) {
    return block(
      name,
      value.map((entry) => (typeof entry === 'string' ? printable(entry) : compact(entry))),
    );
  }
  return [`  ${name}: ${compact(value)}`];
}

function block(name: string, lines: readonly string[]): string[] {
  if (lines.length === 1) return [`  ${name}: ${cut(lines[0] ?? '')}`];
  return lines.length === 0 ? [] : [`  ${name}:`, ...lines.map((line) => `    ${cut(line)}`)];
}

/** What a backend said, or could not do, reads as a sentence; anything else is shown as it is. */
function compact(value: unknown): string {
  const { driver, host, path, message } = (value ?? {}) as Record<string, unknown>;
  if (typeof driver === 'string' && typeof message === 'string') {
    const where = typeof host === 'string' && host !== '' ? `${driver} on ${host}` : driver;
    return cut(printable(`${where}: ${message}${typeof path === 'string' ? ` (${path})` : ''}`));
  }
  return cut(printable(JSON.stringify(value) ?? ''));
}

function cut(text: string): string {
  return text.length > maxValueChars ? `${text.slice(0, maxValueChars)}…` : text;
}
