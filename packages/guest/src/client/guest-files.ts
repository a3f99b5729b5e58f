import { CaissonError } from '@caisson/contract';
import { limits } from '../protocol/limits.ts';
import type { MethodName, MethodRecord, Params, Result } from '../protocol/methods.ts';
import { readFile } from './file-read.ts';
import { streamOnce } from './file-stream.ts';
import { FileWatch } from './file-watch.ts';
import { type Bytes, sendBytes } from './file-write.ts';
import type { GuestChannel } from './guest-channel.ts';
import type { GuestClient } from './guest-client.ts';
import { decodeResult, open } from './open-channel.ts';

export type Entry = Result<'file.stat'>['entry'];
export type GrepMatch = MethodRecord<'file.grep'>['matches'][number];

/** Whose permission, and until when. The user is `user` when absent. */
export interface FileOptions {
  readonly user?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface WriteOptions extends FileOptions {
  /** `replace` (when absent) and `create` are atomic; `range` writes in place from `offset` on. */
  readonly how?: 'replace' | 'create' | 'range' | undefined;
  readonly offset?: number | undefined;
  readonly mode?: number | undefined;
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
  readonly parents?: boolean | undefined;
  readonly sync?: boolean | undefined;
}

export interface GrepOptions extends FileOptions {
  readonly syntax?: 'literal' | 'extended' | undefined;
  readonly ignoreCase?: boolean | undefined;
  readonly include?: readonly string[] | undefined;
  readonly exclude?: readonly string[] | undefined;
  readonly ignoreFiles?: boolean | undefined;
  readonly hidden?: boolean | undefined;
  readonly contextLines?: number | undefined;
  readonly maxMatches?: number | undefined;
  readonly maxMatchesPerFile?: number | undefined;
  readonly maxFileBytes?: number | undefined;
}

const dropUndefined = <T extends object>(value: T) =>
  Object.fromEntries(Object.entries(value).filter(([, given]) => given !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };

export class GuestFiles {
  readonly #client: GuestClient;

  constructor(client: GuestClient) {
    this.#client = client;
  }

  async stat(path: string, options: FileOptions & { readonly follow?: boolean } = {}): Promise<Entry> {
    const params = { path, ...user(options), follow: options.follow ?? true };
    return (await this.#client.request('file.stat', params, options)).entry;
  }

  /** Entries of a directory, parents before children. `truncated`: there are more than `maxEntries`. */
  async list(
    path: string,
    options: FileOptions & { readonly depth?: number; readonly maxEntries?: number } = {},
  ): Promise<{ entries: Entry[]; truncated: boolean }> {
    const { depth = 1, maxEntries = 10_000 } = options;
    const params = { path, ...user(options), depth, maxEntries };
    return await this.#entries('file.list', params, maxEntries, options.signal);
  }

  async glob(
    path: string,
    pattern: string,
    options: FileOptions & {
      readonly ignoreFiles?: boolean;
      readonly hidden?: boolean;
      readonly maxEntries?: number;
    } = {},
  ): Promise<{ entries: Entry[]; truncated: boolean }> {
    const { ignoreFiles = true, hidden = false, maxEntries = 10_000 } = options;
    return await this.#entries(
      'file.glob',
      { path, ...user(options), pattern, ignoreFiles, hidden, maxEntries },
      maxEntries,
      options.signal,
    );
  }

  /** Lines that match, as they are found; returns what the search did. */
  async *grep(
    path: string,
    pattern: string,
    options: GrepOptions = {},
  ): AsyncGenerator<GrepMatch, Result<'file.grep'>> {
    const params: Params<'file.grep'> = {
      path,
      ...user(options),
      pattern,
      syntax: options.syntax ?? 'literal',
      ignoreCase: options.ignoreCase ?? false,
      include: options.include ?? [],
      exclude: options.exclude ?? [],
      ignoreFiles: options.ignoreFiles ?? true,
      hidden: options.hidden ?? false,
      contextLines: options.contextLines ?? 0,
      maxMatches: options.maxMatches ?? 10_000,
      maxFileBytes: options.maxFileBytes ?? 64 * 1024 * 1024,
      ...dropUndefined({ maxMatchesPerFile: options.maxMatchesPerFile }),
    } as Params<'file.grep'>;
    const { signal } = options;
    const batches = streamOnce(this.#client, 'file.grep', params, { signal }, (channel) =>
      channel.records<MethodRecord<'file.grep'>>(),
    );
    try {
      for (let found = 0; ; ) {
        const next = await batches.next();
        if (next.done === true) return decodeResult('file.grep', next.value);
        const { matches } = next.value;
        found += matches.length;
        if (matches.length === 0 || found > params.maxMatches)
          throw new CaissonError('guest_failed', 'the guest finds without end');
        yield* matches;
      }
    } finally {
      // Whoever leaves early leaves the guest's search too.
      await batches.return(new Uint8Array());
    }
  }

  /** The bytes of a file, or of a range of it. Goes on from the first byte not consumed when the connection is lost. */
  read(path: string, options: FileOptions & { readonly offset?: number; readonly length?: number } = {}) {
    return readFile(this.#client, { path, ...user(options), ...dropUndefined({ length: options.length }) }, options);
  }

  /** The whole file, which must not be larger than `maxBytes`. */
  async readAll(path: string, options: FileOptions & { readonly maxBytes?: number } = {}): Promise<Buffer> {
    const { maxBytes = 64 * 1024 * 1024 } = options;
    const chunks: Uint8Array[] = [];
    // One byte more than allowed tells a file that is too large from one that just fits.
    for await (const chunk of this.read(path, { ...options, length: maxBytes + 1 })) chunks.push(chunk);
    const all = Buffer.concat(chunks);
    if (all.length > maxBytes) throw new CaissonError('file_invalid', `${path} is larger than ${maxBytes} bytes`);
    return all;
  }

  async write(path: string, content: Bytes, options: WriteOptions = {}): Promise<Entry> {
    const { how = 'replace', offset, mode, uid, gid, parents = false, sync = false } = options;
    const params = { path, ...user(options), how, parents, sync, ...dropUndefined({ offset, mode, uid, gid }) };
    const payload = await sendBytes(
      this.#client,
      'file.write',
      params as Params<'file.write'>,
      content,
      options.signal,
    );
    return decodeResult('file.write', payload).entry;
  }

  /** True when it was not there. */
  async mkdir(
    path: string,
    options: FileOptions & { readonly parents?: boolean; readonly mode?: number } = {},
  ): Promise<boolean> {
    const { parents = false, mode } = options;
    const params = { path, ...user(options), parents, ...dropUndefined({ mode }) } as Params<'file.mkdir'>;
    return (await this.#client.request('file.mkdir', params, options)).created;
  }

  async move(from: string, to: string, options: FileOptions & { readonly replace?: boolean } = {}): Promise<Entry> {
    const params = { from, to, ...user(options), replace: options.replace ?? true };
    return (await this.#client.request('file.move', params, options)).entry;
  }

  async remove(
    path: string,
    options: FileOptions & { readonly recursive?: boolean; readonly missingOk?: boolean } = {},
  ) {
    const { recursive = false, missingOk = false } = options;
    await this.#client.request('file.remove', { path, ...user(options), recursive, missingOk }, options);
  }

  async symlink(
    path: string,
    target: string,
    options: FileOptions & { readonly replace?: boolean } = {},
  ): Promise<void> {
    await this.#client.request(
      'file.symlink',
      { path, target, ...user(options), replace: options.replace ?? false },
      options,
    );
  }

  async chmod(path: string, mode: number, options: FileOptions & { readonly recursive?: boolean } = {}): Promise<void> {
    await this.#client.request(
      'file.chmod',
      { path, ...user(options), mode, recursive: options.recursive ?? false },
      options,
    );
  }

  async chown(
    path: string,
    owner: { readonly uid?: number; readonly gid?: number },
    options: FileOptions & { readonly recursive?: boolean } = {},
  ): Promise<void> {
    const params = { path, ...user(options), ...owner, recursive: options.recursive ?? false };
    await this.#client.request('file.chown', params, options);
  }

  async getXattr(path: string, name: string, options: FileOptions = {}): Promise<Uint8Array> {
    return (await this.#client.request('file.xattr_get', { path, ...user(options), name }, options)).value;
  }

  async setXattr(path: string, name: string, value: Uint8Array, options: FileOptions = {}): Promise<void> {
    await this.#client.request('file.xattr_set', { path, ...user(options), name, value }, options);
  }

  async listXattrs(path: string, options: FileOptions = {}): Promise<readonly string[]> {
    return (await this.#client.request('file.xattr_list', { path, ...user(options) }, options)).names;
  }

  async removeXattr(path: string, name: string, options: FileOptions = {}): Promise<void> {
    await this.#client.request('file.xattr_remove', { path, ...user(options), name }, options);
  }

  /** Resolves when the watch is in place: what happens after that is reported. */
  async watch(path: string, options: FileOptions & { readonly recursive?: boolean } = {}): Promise<FileWatch> {
    const params = { path, ...user(options), recursive: options.recursive ?? true };
    return await FileWatch.begin(this.#client, params, options.signal);
  }

  /** A tree as a POSIX tar archive. */
  async *tarOut(
    path: string,
    options: FileOptions & { readonly exclude?: readonly string[] } = {},
  ): AsyncGenerator<Uint8Array> {
    const params = { path, ...user(options), exclude: options.exclude ?? [] };
    const { signal } = options;
    const window = 4 * limits.windowInitial;
    decodeResult('file.tar_out', yield* streamOnce(this.#client, 'file.tar_out', params, { signal, window }, chunksOf));
  }

  /** Unpacks an archive below a directory. */
  async tarIn(path: string, archive: Bytes, options: FileOptions & { readonly keepOwner?: boolean } = {}) {
    const params = { path, ...user(options), keepOwner: options.keepOwner ?? false };
    return decodeResult('file.tar_in', await sendBytes(this.#client, 'file.tar_in', params, archive, options.signal));
  }

  async #entries<M extends 'file.list' | 'file.glob'>(
    method: M,
    params: Params<M>,
    maxEntries: number,
    signal: AbortSignal | undefined,
  ) {
    return await this.#client.onConnection(method as MethodName, signal, async (connection) => {
      const channel = open(connection, method, params, { signal });
      const entries: Entry[] = [];
      try {
        for await (const batch of channel.records<MethodRecord<'file.list'>>()) {
          entries.push(...batch.entries);
          if (batch.entries.length === 0 || entries.length > maxEntries)
            throw new CaissonError('guest_failed', 'the guest lists without end');
        }
        const { truncated } = decodeResult('file.list', await channel.result);
        return { entries, truncated };
      } finally {
        channel.cancel(new Error('the list was left'));
      }
    });
  }
}

async function* chunksOf(channel: GuestChannel): AsyncGenerator<Uint8Array> {
  for (let chunk = await channel.read(); chunk !== undefined; chunk = await channel.read()) yield chunk;
}

function user({ user: name }: FileOptions): { user?: string } {
  return name === undefined ? {} : { user: name };
}
