import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { SharedWork } from '../../shared-work.ts';
import type { PackageIndex } from '../resolution.ts';
import { readKeptIndex } from './packages-file.ts';
import { fetchIndex, indexDigest, type Suite } from './suite.ts';

export interface DebianIndexesOptions {
  /** Where what was fetched is kept. Several servers may share it. */
  readonly folder: string;
  /** The mirror and suites of a release, released first and updates after; none when the machine knows no mirror. */
  readonly suitesOf: (release: string, signal: AbortSignal) => Promise<readonly Suite[]>;
  /** Debian changes a release every few weeks and its security part daily. */
  readonly expiresAfterMs?: number;
  readonly now?: () => number;
}

const keptSchema = z.object({
  checkedAt: z.number(),
  files: z.array(z.string().regex(/^sha256-[0-9a-f]{64}\.txt$/)).max(16),
});

/** Where Debian has other words for machines than images have. */
const debianWords: Readonly<Record<string, string>> = { ppc64le: 'ppc64el', arm: 'armhf' };

export interface OpenedIndex {
  readonly index?: PackageIndex;
  /** Why there is none, or why it may be old. */
  readonly notice?: string;
}

/**
 * What Debian's releases offer, read from the mirror. It only says beforehand what apt would say later: apt checks the
 * signatures when it installs, so they are not checked here.
 *
 *   <release>-<architecture>.json   when the mirror was last asked, and which files make up the index
 *   sha256-<hex>.txt                names and versions of one index, named by the digest of what the mirror has
 */
export class DebianIndexes {
  readonly #options: DebianIndexesOptions;
  readonly #now: () => number;
  readonly #expiresAfterMs: number;
  readonly #open = new Map<string, { index: PackageIndex; until: number }>();
  readonly #working = new SharedWork<OpenedIndex>();

  constructor(options: DebianIndexesOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#expiresAfterMs = options.expiresAfterMs ?? 6 * 3_600_000;
  }

  /** Never fails but by the signal: a plan without an index is still a plan. */
  async of(release: string, machine: string, signal: AbortSignal): Promise<OpenedIndex> {
    const architecture = debianWords[machine] ?? machine;
    const key = `${release}-${architecture}`;
    const open = this.#open.get(key);
    if (open !== undefined && open.until > this.#now()) return { index: open.index };
    this.#open.delete(key);
    return this.#working.run(key, { signal }, (shared) => this.#read(key, release, architecture, shared));
  }

  async #read(key: string, release: string, architecture: string, signal: AbortSignal): Promise<OpenedIndex> {
    const kept = await this.#kept(key);
    const name = `Debian ${release} (${architecture})`;
    try {
      const fresh = kept !== undefined && kept.checkedAt + this.#expiresAfterMs > this.#now();
      const files = fresh ? kept.files : await this.#fetch(key, release, architecture, signal);
      if (files.length === 0) return { notice: `this machine knows no mirror of Debian: names are not checked` };
      const index = await this.#load(name, files);
      this.#open.set(key, { index, until: (fresh ? kept.checkedAt : this.#now()) + this.#expiresAfterMs });
      return { index };
    } catch (error) {
      signal.throwIfAborted();
      const why = (error as Error).message;
      const old = kept && (await this.#load(name, kept.files).catch(() => undefined));
      if (old) return { index: old, notice: `the index of ${name} may be old: ${why}` };
      return { notice: `the index of ${name} cannot be read, so names are not checked: ${why}` };
    }
  }

  async #fetch(key: string, release: string, architecture: string, signal: AbortSignal): Promise<readonly string[]> {
    const { folder, suitesOf } = this.#options;
    await mkdir(folder, { recursive: true });
    const files: string[] = [];
    for (const suite of await suitesOf(release, signal)) {
      const listed = await indexDigest(suite, architecture, signal);
      await fetchIndex(suite, architecture, listed, folder, signal);
      files.push(`${listed.digest.replace(':', '-')}.txt`);
    }
    if (files.length === 0) return files;
    const draft = join(folder, `${key}.json.${process.pid}`);
    await writeFile(draft, JSON.stringify({ checkedAt: this.#now(), files }));
    await rename(draft, join(folder, `${key}.json`));
    await this.#sweep();
    return files;
  }

  async #load(name: string, files: readonly string[]): Promise<PackageIndex> {
    const texts = await Promise.all(files.map((file) => readFile(join(this.#options.folder, file), 'utf8')));
    return readKeptIndex(name, texts);
  }

  async #kept(key: string) {
    try {
      const text = await readFile(join(this.#options.folder, `${key}.json`), 'utf8');
      return keptSchema.safeParse(JSON.parse(text)).data;
    } catch {
      // Absent or torn: it is fetched again.
      return undefined;
    }
  }

  /** Removes what no release refers to any more. */
  async #sweep(): Promise<void> {
    const { folder } = this.#options;
    const names = await readdir(folder);
    const kept = await Promise.all(
      names.filter((name) => name.endsWith('.json')).map((name) => this.#kept(name.slice(0, -'.json'.length))),
    );
    const used = new Set(kept.flatMap((entry) => entry?.files ?? []));
    const unused = names.filter((name) => name.endsWith('.txt') && !used.has(name));
    await Promise.all(unused.map((name) => rm(join(folder, name), { force: true })));
  }
}
