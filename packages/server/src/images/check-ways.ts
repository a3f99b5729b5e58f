import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import type { Doctor } from '@caisson/contract';
import { defaultRelease } from './debian/releases.ts';
import { whyNoDebian } from './debian/why-no-debian.ts';
import type { ImagesOptions } from './images.ts';
import { readCredentialsFile } from './registry/credentials.ts';

type Check = Doctor['checks'][number];

/** Each way to a base: whether it can be used here, why not, and what would change that. Nothing is made or fetched. */
export async function checkWays(options: ImagesOptions, signal: AbortSignal): Promise<Check[]> {
  const checks = await Promise.all([checkUnpack(options), checkRegistry(options), checkDebian(), checkHost()]);
  signal.throwIfAborted();
  return checks;
}

async function checkUnpack({ guestProgram }: ImagesOptions): Promise<Check> {
  const name = 'images: unpack';
  if (process.getuid?.() !== 0)
    return { name, ok: false, detail: 'owners of files are kept only as root', fix: 'Run the server as root.' };
  const found = await access(guestProgram, constants.X_OK).then(
    () => true,
    () => false,
  );
  return found
    ? { name, ok: true, detail: 'layers are unpacked by the guest program', fix: null }
    : { name, ok: false, detail: `there is no ${guestProgram}`, fix: 'npm run build' };
}

async function checkRegistry({ credentialsFile, registries }: ImagesOptions): Promise<Check> {
  const name = 'images: registry';
  const which = registries === undefined ? 'any registry may be asked' : `registries: ${registries.join(', ')}`;
  try {
    const known = credentialsFile === undefined ? {} : await readCredentialsFile(credentialsFile);
    return { name, ok: true, detail: `${which}; credentials for ${Object.keys(known).length}`, fix: null };
  } catch (error) {
    return { name, ok: false, detail: (error as Error).message, fix: `Correct or remove ${credentialsFile}.` };
  }
}

async function checkDebian(): Promise<Check> {
  const name = 'images: debian';
  const missing = await whyNoDebian();
  if (missing) return { name, ok: false, detail: missing.why, fix: missing.fix };
  return { name, ok: true, detail: `bootstrapped with mmdebstrap; ${defaultRelease} unless told otherwise`, fix: null };
}

async function checkHost(): Promise<Check> {
  const ok = process.platform === 'linux';
  const detail = ok ? "the machine's own /usr, read-only" : 'only a Linux machine has programs for a sandbox';
  return { name: 'images: host', ok, detail, fix: ok ? null : 'Run the server on Linux.' };
}
