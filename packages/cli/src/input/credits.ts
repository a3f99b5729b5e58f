import { InvalidArgumentError } from 'commander';

/** `12`, `0.5`, `-3.000001` → micro-units, exactly. */
export function parseCredits(text: string): number {
  const match = /^(-?)(\d{1,9})(?:\.(\d{1,6}))?$/.exec(text);
  if (!match) throw new InvalidArgumentError('Write it as 12, 0.5 or -3; six digits after the point at most.');
  const [, sign, whole = '0', part = ''] = match;
  const micros = Number(whole) * 1_000_000 + Number(part.padEnd(6, '0'));
  return sign === '-' && micros !== 0 ? -micros : micros;
}
