import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a folder that anybody may pass through and nobody may list, with those above it that are missing, whatever the
 * umask is. Root inside a sandbox is nobody outside, and passes through such folders on the way to its own files. Each
 * gets its name when it has its mode: a killed process leaves none that nobody may pass.
 */
export async function makePassable(folder: string): Promise<void> {
  if (existsSync(folder)) return;
  await makePassable(dirname(folder));
  const draft = `${folder}.${randomUUID()}`;
  await mkdir(draft, { recursive: true });
  await chmod(draft, 0o711);
  await rename(draft, folder).catch(async (error) => {
    await rm(draft, { recursive: true, force: true });
    // Somebody else made it meanwhile.
    if (!existsSync(folder)) throw error;
  });
}
