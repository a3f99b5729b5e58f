import type { Diff, DiffItem, FileDiff, Snapshot } from '@caisson/contract';
import type { CallOptions } from './call.ts';
import type { Connection } from './connection.ts';
import { given } from './given.ts';
import { eachItem } from './pages.ts';
import type { Bytes } from './transport.ts';

export interface DiffOptions extends CallOptions {
  /** The other side: the id of a snapshot, or `now`, which is meant when it is absent. */
  readonly to?: string | undefined;
  /** Only this, and what is in it. */
  readonly path?: string | undefined;
}

export interface DiffPageOptions extends DiffOptions {
  readonly limit?: number | undefined;
  /** `next` of the previous page. */
  readonly after?: string | undefined;
}

/** A snapshot on its way, as one file. */
export interface SnapshotArchive {
  /** What the server would call it. */
  readonly fileName: string;
  readonly size: number;
  readonly content: ReadableStream<Uint8Array>;
}

export interface ImportOptions extends Pick<CallOptions, 'signal'> {
  readonly project?: string | undefined;
  /** In place of the one in the file. */
  readonly name?: string | undefined;
  /** In place of those in the file. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** What is in snapshots: how one differs from another, and the whole of one as a file. */
export class SnapshotContent {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Every path that differs, parents before what is in them, read page by page. */
  diff(id: string, options: DiffPageOptions = {}): AsyncGenerator<DiffItem, void, undefined> {
    return eachItem((after) => this.diffPage(id, { ...options, after }), options.after);
  }

  diffPage(id: string, options: DiffPageOptions = {}): Promise<Diff> {
    const { to, path, limit, after, ...rest } = options;
    const query = given({ to: to as Diff['to'] | undefined, path, limit, after });
    return this.#connection.call('snapshot.diff', { params: { id }, query, ...rest });
  }

  /** How one file differs, line by line. */
  diffFile(id: string, path: string, options: Omit<DiffOptions, 'path'> = {}): Promise<FileDiff> {
    const { to, ...rest } = options;
    const query = { path, ...given({ to: to as Diff['to'] | undefined }) };
    return this.#connection.call('snapshot.diff.file', { params: { id }, query, ...rest });
  }

  /** The whole of it as an OCI image layout in a tar; `thin` leaves out the layers of its image. */
  async export(
    id: string,
    options: Pick<CallOptions, 'signal'> & { readonly thin?: boolean | undefined } = {},
  ): Promise<SnapshotArchive> {
    const { signal, thin = false } = options;
    const response = await this.#connection.open('snapshot.export', { params: { id }, query: { thin }, signal });
    const name = /filename="([\w.-]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1];
    return {
      fileName: name ?? `${id}.tar`,
      size: Number(response.headers.get('content-length') ?? 0),
      content: response.body ?? new Blob([]).stream(),
    };
  }

  /** A snapshot from what `export` gave, here or elsewhere. */
  async import(archive: Bytes, options: ImportOptions = {}): Promise<Snapshot> {
    const { signal, project, name, labels } = options;
    const label = labels && Object.entries(labels).map(([key, value]) => `${key}=${value}`);
    const query = { project, name, label };
    const response = await this.#connection.open('snapshot.import', { params: {}, query, bytes: archive, signal });
    return (await response.json()) as Snapshot;
  }
}
