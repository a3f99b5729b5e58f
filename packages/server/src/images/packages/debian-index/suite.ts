import { createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import type { Agent } from 'node:https';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { CaissonError } from '@caisson/contract';
import { askOutside } from '../../ask-outside.ts';
import { digestFileName, readBounded, verified } from '../../digest.ts';
import { readPackagesFile } from './packages-file.ts';
import { unxz } from './unxz.ts';

/** A place of packages: a mirror and a suite of it. */
export interface Suite {
  readonly address: string;
  readonly suite: string;
  /** For TLS: says whom to trust, where that is more than the process trusts. */
  readonly agent?: Agent | undefined;
}

const maxReleaseBytes = 4 * 1024 ** 2;
const maxCompressedBytes = 100 * 1024 ** 2;
const maxBytes = 1024 ** 3;
/** A mirror that is slower than this is not worth waiting for: the index only saves a failed build. */
const releaseTimeoutMs = 10_000;
const fileTimeoutMs = 120_000;

/** The digest of the suite's index, from its release file. */
export async function indexDigest(place: Suite, architecture: string, signal: AbortSignal): Promise<ListedIndex> {
  const body = await get(place, 'InRelease', releaseTimeoutMs, signal);
  const text = (await readBounded(body, maxReleaseBytes, 'the release file')).toString('utf8');
  // The small suites of updates have no gzip.
  for (const form of forms) {
    const listed = findListed(text, `main/binary-${architecture}/Packages.${form}`);
    if (listed !== undefined) return { ...listed, form };
  }
  throw new CaissonError('build_failed', `${place.suite} has no package index for ${architecture}`);
}

const forms = ['gz', 'xz'] as const;

interface Listed {
  readonly digest: string;
  readonly size: number;
}

export interface ListedIndex extends Listed {
  readonly form: (typeof forms)[number];
}

/** The entry of one file in the list of SHA-256 digests; other lists name the same files with weaker ones. */
export function findListed(release: string, path: string): Listed | undefined {
  const start = release.search(/^SHA256:/m);
  if (start === -1) return undefined;
  for (const line of release.slice(start).split('\n').slice(1)) {
    const [, hex, size, name] = /^ ([0-9a-f]{64}) +(\d{1,12}) +(\S+)$/.exec(line) ?? [];
    if (hex === undefined) return undefined;
    if (name === path) return { digest: `sha256:${hex}`, size: Number(size) };
  }
  return undefined;
}

/** Fetches an index unless it is kept, and gives the path of what is kept of it. */
export async function fetchIndex(
  place: Suite,
  architecture: string,
  listed: ListedIndex,
  folder: string,
  signal: AbortSignal,
): Promise<string> {
  const file = join(folder, `${digestFileName(listed.digest)}.txt`);
  if (await stat(file).catch(() => undefined)) return file;
  if (listed.size > maxCompressedBytes) throw new CaissonError('image_too_large', 'the package index is too large');
  const path = `main/binary-${architecture}/by-hash/SHA256/${listed.digest.slice('sha256:'.length)}`;
  const body = await get(place, path, fileTimeoutMs, signal);
  const draft = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  try {
    await pipeline(
      verified(body, listed),
      listed.form === 'gz' ? createGunzip() : (content: AsyncIterable<Uint8Array>) => unxz(content, signal),
      bounded,
      async function* (content: AsyncIterable<Uint8Array>) {
        for await (const [name, version] of readPackagesFile(content)) yield `${name} ${version}\n`;
      },
      createWriteStream(draft),
      { signal },
    );
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
  return file;
}

async function* bounded(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new CaissonError('image_too_large', 'the package index is too large unpacked');
    yield chunk;
  }
}

async function get(place: Suite, path: string, timeoutMs: number, signal: AbortSignal): Promise<Readable> {
  const url = new URL(`dists/${place.suite}/${path}`, place.address.replace(/\/*$/, '/'));
  const within = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const response = await askOutside(url, { signal: within }, place.agent);
  if (response.ok && response.body !== null) return Readable.fromWeb(response.body as never);
  await response.body?.cancel();
  throw new CaissonError('build_failed', `the mirror answers ${response.status} for ${place.suite}`);
}
