import type { Secret } from '@caisson/contract';
import type { CallInput, CallOptions } from './call.ts';
import type { Connection } from './connection.ts';
import { given } from './given.ts';

export type NewSecret = CallInput<'secret.set'>['body'];

export interface SecretOptions extends CallOptions {
  /** Another project of the tenant, for those who manage. */
  readonly project?: string | undefined;
}

/** Secrets of the project, which are put into requests on their way out of sandboxes. Their values only go in. */
export class Secrets {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Stores a secret or replaces it; a replaced one counts from the next request on. */
  set(name: string, secret: NewSecret, { project, ...calls }: SecretOptions = {}): Promise<Secret> {
    return this.#connection.call('secret.set', { params: { name }, query: given({ project }), body: secret, ...calls });
  }

  async list({ project, ...calls }: SecretOptions = {}): Promise<Secret[]> {
    return (await this.#connection.call('secret.list', { query: given({ project }), ...calls })).items;
  }

  delete(name: string, { project, ...calls }: SecretOptions = {}): Promise<Secret> {
    return this.#connection.call('secret.delete', { params: { name }, query: given({ project }), ...calls });
  }
}
