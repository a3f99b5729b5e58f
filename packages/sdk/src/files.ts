import type { FileEdit, FileEntry, GrepMatch, JsonRouteName, WatchBatch } from '@caisson/contract';
import type { CallInput, CallOptions } from './call.ts';
import type { Connection } from './connection.ts';
import { watchFiles } from './file-watch.ts';
import type { QueryValue } from './request-url.ts';
import type { Bytes, FetchAnswer } from './transport.ts';

/** Whose permission, and until when. The user is the sandbox's own when absent. */
export interface FileOptions extends Pick<CallOptions, 'signal'> {
  readonly user?: string | undefined;
}

export interface ReadOptions extends FileOptions {
  /** First byte. */
  readonly offset?: number | undefined;
  /** Most bytes. */
  readonly length?: number | undefined;
}

export interface WriteOptions extends FileOptions {
  /** Permission bits, such as 0o755. */
  readonly mode?: number | undefined;
  /** Make missing folders. */
  readonly parents?: boolean | undefined;
  /** Fail when it is there. */
  readonly create?: boolean | undefined;
}

type Body<N extends JsonRouteName> = CallInput<N> extends { readonly body: infer B } ? B : never;
export type GrepOptions = Omit<Body<'file.grep'>, 'path' | 'pattern'> & Pick<CallOptions, 'signal'>;
export type GlobOptions = Omit<Body<'file.glob'>, 'path' | 'pattern'> & Pick<CallOptions, 'signal'>;

export interface GrepResult {
  readonly matches: GrepMatch[];
  readonly filesSearched: number;
  readonly filesSkipped: number;
  readonly truncated: boolean;
}

export interface FileList {
  readonly entries: FileEntry[];
  readonly truncated: boolean;
}

/** Files of one sandbox. A path that does not begin with a slash begins at the home of the user. */
export class Files {
  readonly #connection: Connection;
  readonly #params: { readonly id: string };

  constructor(connection: Connection, sandbox: string) {
    this.#connection = connection;
    this.#params = { id: sandbox };
  }

  /** The bytes of a file, or of a part of it, as a whole in memory. */
  async read(path: string, options: ReadOptions = {}): Promise<Uint8Array> {
    return new Uint8Array(await (await this.#open(path, options)).arrayBuffer());
  }

  async readText(path: string, options: ReadOptions = {}): Promise<string> {
    return new TextDecoder().decode(await this.read(path, options));
  }

  /** The bytes of a file as they come. */
  async readStream(path: string, options: ReadOptions = {}): Promise<ReadableStream<Uint8Array>> {
    return bodyOf(await this.#open(path, options));
  }

  /** Writes a whole file: it is replaced at the end of the upload, or not at all. */
  async write(path: string, content: Bytes, options: WriteOptions = {}): Promise<FileEntry> {
    const { signal, user, mode, parents, create } = options;
    const query = { path, user, mode: mode?.toString(8), parents, create };
    return this.#upload<FileEntry>('file.write', query, content, signal);
  }

  stat(path: string, options: FileOptions & { readonly follow?: boolean } = {}): Promise<FileEntry> {
    const { signal, follow, ...rest } = options;
    const query = { path, ...rest, ...(follow === undefined ? {} : { follow: String(follow) }) };
    return this.#connection.call('file.stat', { params: this.#params, query: given(query), signal });
  }

  /** Entries of a folder, parents before children. */
  list(
    path: string,
    options: FileOptions & { readonly depth?: number; readonly limit?: number } = {},
  ): Promise<FileList> {
    const { signal, ...rest } = options;
    return this.#connection.call('file.list', { params: this.#params, query: given({ path, ...rest }), signal });
  }

  /** True when it was not there. */
  async mkdir(
    path: string,
    options: FileOptions & { readonly parents?: boolean; readonly mode?: number } = {},
  ): Promise<boolean> {
    return (await this.#post('file.mkdir', { path }, options)).created;
  }

  move(from: string, to: string, options: FileOptions & { readonly replace?: boolean } = {}): Promise<FileEntry> {
    return this.#post('file.move', { from, to }, options);
  }

  async remove(
    path: string,
    options: FileOptions & { readonly recursive?: boolean; readonly missingOk?: boolean } = {},
  ): Promise<void> {
    await this.#post('file.remove', { path }, options);
  }

  async symlink(
    path: string,
    target: string,
    options: FileOptions & { readonly replace?: boolean } = {},
  ): Promise<void> {
    await this.#post('file.symlink', { path, target }, options);
  }

  async chmod(path: string, mode: number, options: FileOptions & { readonly recursive?: boolean } = {}): Promise<void> {
    await this.#post('file.chmod', { path, mode }, options);
  }

  /** Replaces exact pieces of text, all of them or none; `edit_conflict` when one is not there exactly once. */
  edit(
    path: string,
    edits: readonly FileEdit[],
    options: FileOptions = {},
  ): Promise<FileEntry & { readonly replaced: number }> {
    return this.#post('file.edit', { path, edits: [...edits] }, options);
  }

  grep(path: string, pattern: string, options: GrepOptions = {}): Promise<GrepResult> {
    return this.#post('file.grep', { path, pattern }, options);
  }

  glob(path: string, pattern: string, options: GlobOptions = {}): Promise<FileList> {
    return this.#post('file.glob', { path, pattern }, options);
  }

  /** Changes below a folder. The first batch is empty and says that the watch is in place. */
  watch(
    path: string,
    options: FileOptions & { readonly recursive?: boolean; readonly reconnectSeconds?: number } = {},
  ): AsyncGenerator<WatchBatch, void, undefined> {
    return watchFiles(this.#connection, this.#params.id, path, options);
  }

  /** A folder with everything in it, as a tar archive. */
  async download(path: string, options: FileOptions = {}): Promise<ReadableStream<Uint8Array>> {
    const { signal, user } = options;
    return bodyOf(
      await this.#connection.open('file.tree.read', { params: this.#params, query: { path, user }, signal }),
    );
  }

  /** Unpacks a tar archive below a folder. Each member is atomic, the whole is not. */
  upload(
    path: string,
    archive: Bytes,
    options: FileOptions & { readonly keepOwner?: boolean } = {},
  ): Promise<{ entries: number; bytes: number }> {
    const { signal, user, keepOwner } = options;
    return this.#upload('file.tree.write', { path, user, keepOwner }, archive, signal);
  }

  #open(path: string, { signal, user, offset, length }: ReadOptions): Promise<FetchAnswer> {
    const last = length === undefined ? '' : String((offset ?? 0) + length - 1);
    const range = offset === undefined && length === undefined ? {} : { range: `bytes=${offset ?? 0}-${last}` };
    return this.#connection.open('file.read', { params: this.#params, query: { path, user }, headers: range, signal });
  }

  async #upload<T>(
    name: 'file.write' | 'file.tree.write',
    query: Readonly<Record<string, QueryValue>>,
    bytes: Bytes,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const response = await this.#connection.open(name, { params: this.#params, query, bytes, signal });
    return (await response.json()) as T;
  }

  async #post<N extends JsonRouteName>(name: N, fields: object, options: object) {
    const { signal, ...rest } = options as { signal?: AbortSignal };
    // The table ties the name to its body; each caller above gives just that.
    const input = { params: this.#params, body: given({ ...fields, ...rest }), signal } as unknown as CallInput<N>;
    return await this.#connection.call(name, ...([input] as never));
  }
}

function bodyOf(response: FetchAnswer): ReadableStream<Uint8Array> {
  return response.body ?? new Blob([]).stream();
}

/** The fields that have a value: "absent" and "undefined" are two things to the contract's types. */
function given<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}
