import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface PrivateText {
  /** Readable for the server's own user, as long as it is not closed. */
  readonly path: string;
  close(): Promise<void>;
}

const memory = '/dev/shm';

/**
 * A text for a program that takes only files: in memory, without a name from before anything is in it. Whatever happens to
 * the server, nothing of it is left.
 */
export async function privateText(text: string): Promise<PrivateText> {
  const place = join(existsSync(memory) ? memory : tmpdir(), `caisson-${randomBytes(16).toString('hex')}`);
  const file = await open(place, 'wx', 0o600);
  try {
    await unlink(place);
    await file.writeFile(text);
  } catch (error) {
    await file.close();
    throw error;
  }
  return { path: `/proc/${process.pid}/fd/${file.fd}`, close: () => file.close() };
}
