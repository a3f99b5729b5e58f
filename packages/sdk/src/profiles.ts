import { type CheckedProfile, type Profile, parseProfileRef } from '@caisson/contract';
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

  /** Every fault of a profile is thrown; otherwise what it comes to. Nothing is added. */
  check(profile: Readonly<Record<string, unknown>>, options: CallOptions = {}): Promise<CheckedProfile> {
    return this.#connection.call('profile.check', { body: profile, ...options });
  }

  /** Adds a version for good; the same content again does nothing. For keys with the scope `admin`. */
  add(profile: Readonly<Record<string, unknown>>, options: CallOptions = {}): Promise<CheckedProfile> {
    return this.#connection.call('profile.add', { body: profile, ...options });
  }

  /** By `name` or `name@version`, with its ancestors folded in. */
  get(ref: string, options: CallOptions = {}): Promise<CallAnswer<'profile.get'>> {
    const { name, version } = parseProfileRef(ref);
    const query = version === undefined ? {} : { version };
    return this.#connection.call('profile.get', { params: { name }, query, ...options });
  }
}
