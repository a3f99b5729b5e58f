import type { Doctor } from '@caisson/contract';
import { printable, printableLines } from './printable.ts';
import type { Screen } from './screen.ts';

/** Each check with what was found, what would mend it right below, and how many there are to mend at the end. */
export function doctorText(screen: Screen, { version, checks }: Doctor): string {
  const widest = Math.max(0, ...checks.map(({ name }) => name.length));
  const lines = checks.flatMap(({ name, ok, optional, detail, fix }) => {
    // What is only one more choice is not amiss where it is missing.
    const sign = !ok && optional ? '-' : screen.paint(ok ? '✓' : '✗', ok ? 'good' : 'bad');
    const indent = ' '.repeat(widest + 4);
    const [first = '', ...more] = details(detail);
    const found = `${sign} ${printable(name).padEnd(widest)}  ${first}`.trimEnd();
    const mending =
      fix === null ? [] : printableLines(fix).map((line) => `${indent}${screen.paint(`→ ${line}`, 'busy')}`);
    return [found, ...more.map((part) => `${indent}${part}`), ...mending];
  });
  const failed = checks.filter(({ ok, optional }) => !ok && !optional).length;
  const end =
    failed === 0
      ? screen.paint(`${checks.length} checks, all well`, 'good')
      : screen.paint(`${failed} of ${checks.length} checks failed; what → says would mend them`, 'bad');
  return [`server ${printable(version)}`, '', ...lines, '', end].join('\n');
}

/** A finding of several parts has a line for each. */
function details(detail: string): string[] {
  return printableLines(detail).flatMap((line) => line.split(/; /));
}
