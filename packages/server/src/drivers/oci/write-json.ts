import { renameSync, writeFileSync } from 'node:fs';

/** Whole or not at all, and within the call: whoever writes the same at once has the same draft. */
export function writeJson(file: string, value: unknown): void {
  writeFileSync(`${file}.new`, JSON.stringify(value), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
