import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Work in a folder that is gone afterwards. */
export async function inTemporaryFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-bench-'));
  try {
    return await work(folder);
  } finally {
    remove(folder);
  }
}

/** What cannot be removed is told, and hides no failure before it. */
function remove(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch (error) {
    console.error(`bench: left behind: ${(error as Error).message}`);
  }
}
