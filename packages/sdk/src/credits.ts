import type { CreditBalance, CreditTransfer, UsageRecord } from '@caisson/contract';
import type { CallInput, CallOptions } from './call.ts';
import type { Connection } from './connection.ts';
import { given } from './given.ts';
import { jsonLines } from './json-lines.ts';
import { eachItem } from './pages.ts';
import type { TenantChoice } from './tenancy.ts';

export type NewGrant = CallInput<'credits.add'>['body'];
export type UsageFilter = Omit<NonNullable<CallInput<'credits.usage'>['query']>, 'after' | 'limit'>;

/** Credits of a tenant, and what its sandboxes used. Amounts are micro-units. */
export class Credits {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  show({ tenant, ...options }: TenantChoice = {}): Promise<CreditBalance> {
    return this.#connection.call('credits.show', { query: given({ tenant }), ...options });
  }

  /** For the operator. With a `reference` it may be repeated. */
  add(grant: NewGrant, options: CallOptions = {}): Promise<CreditBalance> {
    return this.#connection.call('credits.add', { body: grant, ...options });
  }

  /** For the operator: whether a tenant pays from now on. Its balance stays, and what it uses is told as ever. */
  switch(wanted: CallInput<'credits.switch'>['body'], options: CallOptions = {}): Promise<CreditBalance> {
    return this.#connection.call('credits.switch', { body: wanted, ...options });
  }

  /** Every movement, newest first. */
  history(
    options: TenantChoice & { readonly sandbox?: string | undefined } = {},
  ): AsyncGenerator<CreditTransfer, void, undefined> {
    const { tenant, sandbox, ...rest } = options;
    return eachItem((after) =>
      this.#connection.call('credits.history', { query: given({ tenant, sandbox, after }), ...rest }),
    );
  }

  /** What sandboxes used, oldest first. */
  usage(filter: UsageFilter = {}, options: CallOptions = {}): AsyncGenerator<UsageRecord, void, undefined> {
    return eachItem((after) =>
      this.#connection.call('credits.usage', { query: { ...filter, ...given({ after }) }, ...options }),
    );
  }

  /** The same in one answer. */
  async *exportUsage(
    filter: UsageFilter = {},
    { signal }: Pick<CallOptions, 'signal'> = {},
  ): AsyncGenerator<UsageRecord, void, undefined> {
    const response = await this.#connection.open('credits.export', { params: {}, query: filter, signal });
    yield* jsonLines<UsageRecord>(response);
  }
}
