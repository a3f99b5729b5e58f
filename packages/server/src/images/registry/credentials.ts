import { readFile } from 'node:fs/promises';
import { CaissonError } from '@caisson/contract';
import * as z from 'zod';

export type RegistryCredential =
  | { readonly username: string; readonly password: string }
  /** Sent as it is. */
  | { readonly token: string };

/** By host and port, as in a reference. */
export type RegistryCredentials = Readonly<Record<string, RegistryCredential>>;

/** The file that `docker login`, `skopeo login` and their like write. Only the parts with secrets in them are read. */
const fileSchema = z.object({
  auths: z
    .record(
      z.string(),
      z.object({
        auth: z.string().optional(),
        username: z.string().optional(),
        password: z.string().optional(),
        registrytoken: z.string().optional(),
      }),
    )
    .optional(),
});

export async function readCredentialsFile(file: string): Promise<RegistryCredentials> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw unreadable(file, cause);
  }
  // The parser's words may quote a secret, so they are not passed on.
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw unreadable(file);
  }
  const parsed = fileSchema.safeParse(value);
  if (!parsed.success) throw unreadable(file);
  const credentials: Record<string, RegistryCredential> = {};
  for (const [key, entry] of Object.entries(parsed.data.auths ?? {})) {
    const found = credentialOf(entry);
    if (found) credentials[hostOf(key)] = found;
  }
  return credentials;
}

function credentialOf(entry: {
  auth?: string | undefined;
  username?: string | undefined;
  password?: string | undefined;
  registrytoken?: string | undefined;
}): RegistryCredential | undefined {
  if (entry.registrytoken) return { token: entry.registrytoken };
  const plain = entry.auth ? Buffer.from(entry.auth, 'base64').toString('utf8') : '';
  const colon = plain.indexOf(':');
  if (colon > 0) return { username: plain.slice(0, colon), password: plain.slice(colon + 1) };
  if (entry.username && entry.password) return { username: entry.username, password: entry.password };
  return undefined;
}

/** Some write the whole address: `https://host/v1/`. */
function hostOf(key: string): string {
  return key
    .replace(/^https?:\/\//, '')
    .replace(/\/.*$/, '')
    .toLowerCase();
}

function unreadable(file: string, cause?: unknown): CaissonError {
  return new CaissonError('registry_failed', `the credentials in ${file} cannot be read`, {
    hint: 'It must be the JSON that a login to a registry writes, readable by the server.',
    cause,
  });
}
