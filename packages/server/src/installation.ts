import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { CaissonError } from '@caisson/contract';
import { z } from 'zod';

/**
 * What an installation knows itself by: its id, which its instances carry, and the secret with which it seals what they
 * say of themselves. It is kept beside the database, so that one whose database is lost finds its instances again.
 */
export interface Installation {
  readonly id: string;
  readonly secret: Buffer;
}

const secretBytes = 32;

const fileSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9]{1,64}$/),
  secret: z.string().regex(new RegExp(`^[0-9a-f]{${secretBytes * 2}}$`)),
});

/** The one that was kept; undefined before the first start. */
export function keptInstallation(file: string): Installation | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new CaissonError('data_folder_unusable', `cannot read ${file}: ${(error as Error).message}`, {
      cause: error,
    });
  }
  const read = fileSchema.safeParse(jsonOf(text));
  if (read.success) return { id: read.data.id, secret: Buffer.from(read.data.secret, 'hex') };
  throw new CaissonError('data_folder_unusable', `${file} does not say which installation this is`, {
    hint: 'Remove it; another is made, and sandboxes that have no record cannot be taken over.',
  });
}

/** Writes down the id that the database has. Whole or not at all: the folder is this server's alone. */
export function keepInstallation(file: string, id: string, kept: Installation | undefined): Installation {
  if (kept?.id === id) return kept;
  const secret = kept?.secret ?? randomBytes(secretBytes);
  writeFileSync(`${file}.new`, `${JSON.stringify({ id, secret: secret.toString('hex') })}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
  return { id, secret };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
