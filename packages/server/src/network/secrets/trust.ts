import { rootCertificates } from 'node:tls';
import { CaissonError, type ErrorCode } from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';

/**
 * How programs in a sandbox come to trust the authority. The files lie in `/dev`, which goes with the instance: neither
 * an image nor a snapshot ever has them, and the next start brings them anew.
 */
const insideFolder = '/dev';
const names = { authority: 'caisson-ca.pem', roots: 'caisson-roots.pem', apt: 'caisson-apt.conf' };

/** Where distributions keep the roots that they trust, as one file. */
const rootPlaces = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
];
/** Those of a distribution are 200 to 500 KiB. `/dev` has room for this and for what replaces it. */
const maxRootBytes = 786_432;

/** Variables by which programs find roots of trust. Node adds to its own ones; the others have one file for all. */
const rootVariables = [
  'SSL_CERT_FILE',
  'CURL_CA_BUNDLE',
  'REQUESTS_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'PIP_CERT',
  'NPM_CONFIG_CAFILE',
  'CARGO_HTTP_CAINFO',
  'AWS_CA_BUNDLE',
  'DENO_CERT',
];

/** What tells programs of the files of trust in a folder. */
export function trustEnvironment(folder = insideFolder): Record<string, string> {
  const env: Record<string, string> = {
    NODE_EXTRA_CA_CERTS: `${folder}/${names.authority}`,
    APT_CONFIG: `${folder}/${names.apt}`,
  };
  for (const name of rootVariables) env[name] = `${folder}/${names.roots}`;
  return env;
}

/** The files themselves. `roots`: those that the image has, where it has some. */
export function trustFiles(authority: string, roots: string | undefined, folder = insideFolder): Map<string, string> {
  const others = roots?.trimEnd() ?? rootCertificates.join('\n');
  return new Map([
    [names.authority, authority],
    [names.roots, `${others}\n${authority}`],
    [names.apt, `Acquire::https::CAInfo "${folder}/${names.roots}";\n`],
  ]);
}

/** The environment of a sandbox that has these secrets: whom to trust, and each placeholder under its name. */
export function secretEnvironment(
  secrets: readonly { readonly env: string | null; readonly placeholder: string | null }[],
): Record<string, string> {
  const placeholders = secrets.flatMap(({ env: name, placeholder }) =>
    name !== null && placeholder !== null ? [[name, placeholder] as const] : [],
  );
  // Of two that want the same variable, the first that the rules name.
  return { ...trustEnvironment(), ...Object.fromEntries(placeholders.reverse()) };
}

/** Puts the authority's certificate where the environment says. It may be done again. */
export async function bringTrust(guest: GuestClient, authority: string, signal: AbortSignal): Promise<void> {
  const files = trustFiles(authority, await rootsInside(guest, signal));
  const options = { user: 'root', mode: 0o444, signal } as const;
  for (const [name, text] of files) await guest.files.write(`${insideFolder}/${name}`, text, options);
}

/** Whoever shaped the image shaped them too, and has nothing from it but what they trust themselves. */
async function rootsInside(guest: GuestClient, signal: AbortSignal): Promise<string | undefined> {
  for (const path of rootPlaces) {
    try {
      const bytes = await guest.files.readAll(path, { user: 'root', maxBytes: maxRootBytes, signal });
      const text = bytes.toString('latin1');
      if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
    } catch (error) {
      if (!(error instanceof CaissonError) || !isAboutFile(error.code)) throw error;
    }
  }
  return undefined;
}

/** What a read fails with for what is there, or is not: also that it is no regular file. */
function isAboutFile(code: ErrorCode): boolean {
  return code.startsWith('file_') || code === 'request_invalid';
}
