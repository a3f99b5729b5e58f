import type { Snapshot } from '@caisson/contract';
import type { CallInput, CallOptions } from './call.ts';
import type { Connection } from './connection.ts';
import { given } from './given.ts';
import { eachItem, type Page } from './pages.ts';
import type { SandboxHandle } from './sandbox-handle.ts';
import type { PageOptions, Sandboxes } from './sandboxes.ts';
import { SnapshotContent } from './snapshot-content.ts';

/** Which snapshots; all that is given must fit. */
export interface SnapshotFilter {
  readonly project?: string | undefined;
  readonly sandbox?: string | undefined;
  readonly kind?: Snapshot['kind'] | undefined;
  readonly name?: string | undefined;
  /** Tell the space of each; takes longer. */
  readonly usage?: boolean | undefined;
}

export type RestoreRequest = NonNullable<CallInput<'snapshot.restore'>['body']>;

/** Snapshots of the caller's project; also those whose sandbox is gone. */
export class Snapshots extends SnapshotContent {
  readonly #connection: Connection;
  readonly #sandboxes: Sandboxes;

  constructor(connection: Connection, sandboxes: Sandboxes) {
    super(connection);
    this.#connection = connection;
    this.#sandboxes = sandboxes;
  }

  /** One, with the space that it takes. */
  get(id: string, options: CallOptions = {}): Promise<Snapshot> {
    return this.#connection.call('snapshot.get', { params: { id }, ...options });
  }

  /** Every snapshot that fits, newest first, read page by page. */
  list(filter: SnapshotFilter = {}, options: PageOptions = {}): AsyncGenerator<Snapshot, void, undefined> {
    return eachItem((after) => this.page(filter, { ...options, after }), options.after);
  }

  page(filter: SnapshotFilter = {}, options: PageOptions = {}): Promise<Page<Snapshot>> {
    const { limit, after, ...rest } = options;
    const { usage, ...fields } = filter;
    const query = given({ ...fields, limit, after, usage: usage === undefined ? undefined : String(usage) });
    return this.#connection.call('snapshot.list', { query, ...rest });
  }

  /** Other labels in place of the old ones; a name of its own keeps it from being pruned. */
  label(
    id: string,
    change: { readonly name?: string; readonly labels?: Readonly<Record<string, string>> },
    options: CallOptions = {},
  ): Promise<Snapshot> {
    return this.#connection.call('snapshot.label', { params: { id }, body: change, ...options });
  }

  delete(id: string, options: CallOptions = {}): Promise<Snapshot> {
    return this.#connection.call('snapshot.delete', { params: { id }, ...options });
  }

  /** A new sandbox that begins with its files. */
  async restore(id: string, request: RestoreRequest = {}, options: CallOptions = {}): Promise<SandboxHandle> {
    const record = await this.#connection.call('snapshot.restore', { params: { id }, body: request, ...options });
    return this.#sandboxes.handle(record);
  }
}
