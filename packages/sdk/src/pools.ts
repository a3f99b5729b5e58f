import type { Pool } from '@caisson/contract';
import type { CallInput, CallOptions } from './call.ts';
import type { Connection } from './connection.ts';

export type PoolBounds = CallInput<'pool.set'>['body'];

/** The warm pools of an installation; for keys with the scope `admin`. */
export class Pools {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async list(options: CallOptions = {}): Promise<Pool[]> {
    return (await this.#connection.call('pool.list', options)).items;
  }

  /** How many members the pool of a profile has at least and at most. They stand over those of the profile. */
  set(profile: string, bounds: PoolBounds, options: CallOptions = {}): Promise<Pool> {
    return this.#connection.call('pool.set', { params: { profile }, body: bounds, ...options });
  }
}
