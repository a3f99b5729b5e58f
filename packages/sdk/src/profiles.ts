import { type Profile, parseProfileRef } from '@caisson/contract';
import type { CallAnswer, CallOptions } from './call.ts';
import type { Connection } from './connection.ts';

/** The profiles of an installation. */
export class Profiles {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The newest version of each. */
  async list(options: CallOptions = {}): Promise<Profile[]> {
    return (await this.#connection.call('profile.list', options)).items;
  }

  /** By `name` or `name@version`, with its ancestors folded in. */
  get(ref: string, options: CallOptions = {}): Promise<CallAnswer<'profile.get'>> {
    const { name, version } = parseProfileRef(ref);
    const query = version === undefined ? {} : { version };
    return this.#connection.call('profile.get', { params: { name }, query, ...options });
  }
}
