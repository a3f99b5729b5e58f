import { InvalidArgumentError } from 'commander';

const unitSeconds: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };

/** `90`, `90s`, `15m`, `2h`, `1d`, `1h30m` → seconds. */
export function parseDuration(text: string): number {
  if (/^\d{1,9}(\.\d{1,3})?$/.test(text)) return Number(text);
  const parts = [...text.matchAll(/(\d{1,9})([smhdw])/g)];
  const whole = parts.map((part) => part[0]).join('') === text && text !== '';
  if (!whole) throw new InvalidArgumentError('Write it as 90s, 15m, 2h, 1d or 1h30m.');
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (unitSeconds[unit ?? ''] ?? 0), 0);
}

/** A duration that the API takes in whole seconds, of which there must be one. */
export function parseWholeDuration(text: string): number {
  const seconds = parseDuration(text);
  if (!Number.isInteger(seconds) || seconds < 1) throw new InvalidArgumentError('It must be a second at least.');
  return seconds;
}
