import { closeSync, existsSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { NewAuditRow } from '../store/audit.ts';

/**
 * Lines that are on their way to the store, in two files that take turns: what has been written here outlives the
 * process. A line costs one small write to the page cache, some microseconds; a loss of power may take the last ones.
 */
export class Spool {
  readonly #files: readonly [string, string];
  readonly #open: readonly [number, number];
  #current: 0 | 1 = 0;

  constructor(path: string) {
    this.#files = [`${path}.0`, `${path}.1`];
    this.#open = [openSync(this.#files[0], 'a', 0o600), openSync(this.#files[1], 'a', 0o600)];
  }

  /** What an earlier server left. */
  left(): NewAuditRow[] {
    return this.#files.flatMap((file) => (existsSync(file) ? linesOf(readFileSync(file, 'utf8')) : []));
  }

  add(row: NewAuditRow): void {
    writeSync(this.#open[this.#current], `${JSON.stringify(row)}\n`);
  }

  /** What was added so far can be dropped when the answer is called; what is added from now on is apart. */
  turn(): () => void {
    const written = this.#open[this.#current];
    this.#current = this.#current === 0 ? 1 : 0;
    return () => ftruncateSync(written, 0);
  }

  clear(): void {
    for (const file of this.#open) ftruncateSync(file, 0);
  }

  close(): void {
    for (const file of this.#open) closeSync(file);
  }
}

/** The last line may be a part of one: its request was never answered. */
function linesOf(text: string): NewAuditRow[] {
  return text.split('\n').flatMap((line) => {
    try {
      return line === '' ? [] : [JSON.parse(line) as NewAuditRow];
    } catch {
      return [];
    }
  });
}
