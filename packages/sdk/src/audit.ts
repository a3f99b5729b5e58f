import type { AuditEntry } from '@caisson/contract';
import type { CallInput, CallOptions } from './call.ts';
import type { Connection } from './connection.ts';
import { given } from './given.ts';
import { jsonLines } from './json-lines.ts';
import { eachItem } from './pages.ts';

export type AuditFilter = Omit<NonNullable<CallInput<'audit.list'>['query']>, 'after' | 'limit'>;

/** Who did what to what, from where, and how it ended; for keys with the scope `admin`. */
export class Audit {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Oldest first, read page by page. */
  list(filter: AuditFilter = {}, options: CallOptions = {}): AsyncGenerator<AuditEntry, void, undefined> {
    return eachItem((after) =>
      this.#connection.call('audit.list', { query: { ...filter, ...given({ after }) }, ...options }),
    );
  }

  /** The same in one answer. */
  async *export(
    filter: AuditFilter = {},
    { signal }: Pick<CallOptions, 'signal'> = {},
  ): AsyncGenerator<AuditEntry, void, undefined> {
    const response = await this.#connection.open('audit.export', { params: {}, query: filter, signal });
    yield* jsonLines<AuditEntry>(response);
  }
}
