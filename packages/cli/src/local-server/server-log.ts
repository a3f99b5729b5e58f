import { closeSync, fstatSync, openSync, readSync, renameSync, statSync } from 'node:fs';
import { type CaissonError, fromProblem, isErrorCode } from '@caisson/contract';

/** A log beyond this is put aside at the next start; the one before it goes. */
const maxLogBytes = 10 * 1024 * 1024;
const maxTailBytes = 64 * 1024;

/** Opens the log for appending. Only its owner may read it. */
export function openLog(path: string): { fd: number; offset: number } {
  try {
    if (statSync(path).size > maxLogBytes) renameSync(path, `${path}.1`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const fd = openSync(path, 'a', 0o600);
  return { fd, offset: fstatSync(fd).size };
}

/** The lines that were written since `offset`, the last ones when there are many. */
export function readLog(path: string, offset: number): string[] {
  const fd = openSync(path, 'r');
  try {
    const { size } = fstatSync(fd);
    const from = Math.max(offset, size - maxTailBytes);
    const buffer = Buffer.alloc(Math.max(0, size - from));
    const length = readSync(fd, buffer, 0, buffer.length, from);
    const lines = buffer.toString('utf8', 0, length).split('\n');
    return lines.map((line) => line.trimEnd()).filter((line) => line !== '');
  } finally {
    closeSync(fd);
  }
}

/** The error with which a server ended: `serve --json` writes it as a problem document, its last line. */
export function lastProblem(lines: readonly string[]): CaissonError | undefined {
  for (const line of [...lines].reverse()) {
    if (!line.startsWith('{"type":"urn:caisson:error:')) continue;
    try {
      const value = JSON.parse(line) as { code?: unknown; status?: unknown };
      if (isErrorCode(value.code)) return fromProblem(value, Number(value.status));
    } catch {
      // A line that was cut off is not the one.
    }
  }
  return undefined;
}
