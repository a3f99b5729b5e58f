import type { ApiKey } from '@caisson/contract';
import type { CallAnswer, CallInput, CallOptions } from './call.ts';
import type { Connection } from './connection.ts';
import { eachItem } from './pages.ts';

export type NewKey = CallInput<'key.create'>['body'];

/** API keys of the caller's tenant. */
export class Keys {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The answer is the only time that the secret is shown. */
  create(request: NewKey, options: CallOptions = {}): Promise<CallAnswer<'key.create'>> {
    return this.#connection.call('key.create', { body: request, ...options });
  }

  list(options: CallOptions = {}): AsyncGenerator<ApiKey, void, undefined> {
    return eachItem((after) =>
      this.#connection.call('key.list', { query: after === undefined ? {} : { after }, ...options }),
    );
  }

  revoke(id: string, options: CallOptions = {}): Promise<ApiKey> {
    return this.#connection.call('key.revoke', { params: { id }, ...options });
  }
}
