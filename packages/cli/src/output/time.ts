const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const;

/** `45s`, `3m20s`, `15m`, `1h59m`, `5d`: a second unit where the first alone would say too little. */
export function shortDuration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const at = units.findIndex(([, size]) => whole >= size);
  const [unit, size] = units[at] ?? (['s', 1] as const);
  const count = Math.floor(whole / size);
  const below = at === -1 ? undefined : units[at + 1];
  const rest = below === undefined ? 0 : Math.floor((whole % size) / below[1]);
  return count < 10 && rest > 0 && below !== undefined ? `${count}${unit}${rest}${below[0]}` : `${count}${unit}`;
}

/** `3m ago`, `in 2h`; nothing for what has no time. */
export function relativeTime(iso: string | null, now: number = Date.now()): string {
  if (iso === null) return '';
  const seconds = (Date.parse(iso) - now) / 1000;
  if (Number.isNaN(seconds)) return iso;
  return seconds > 0 ? `in ${shortDuration(seconds)}` : `${shortDuration(-seconds)} ago`;
}
