import { InvalidArgumentError } from 'commander';
import { parseDuration } from './duration.ts';

/** A moment as ISO text: a date, a time, or how long ago (`24h`, `7d`). */
export function parseMoment(text: string, now: number = Date.now()): string {
  if (/^\d{4}-\d{2}-\d{2}/.test(text)) {
    const time = Date.parse(text);
    if (Number.isNaN(time)) throw new InvalidArgumentError('It is no date; write 2026-11-15 or 2026-11-15T08:00:00Z.');
    return new Date(time).toISOString();
  }
  return new Date(now - parseDuration(text) * 1000).toISOString();
}
