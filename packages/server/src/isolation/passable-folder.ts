import { existsSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a folder that anybody may pass through and nobody may list, with those above it that are missing, whatever the
 * umask is. Root inside a sandbox is nobody outside, and passes through such folders on the way to its own files.
 */
export async function makePassable(folder: string): Promise<void> {
  if (existsSync(folder)) return;
  await makePassable(dirname(folder));
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o711);
}
