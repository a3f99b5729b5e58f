import type { Agent } from 'node:https';
import { CaissonError, hasCode } from '@caisson/contract';
import { type ImageReference, parseReference, type RegistryReference } from '../reference.ts';
import { type RegistryCredentials, readCredentialsFile } from './credentials.ts';
import type { RegistryPlace } from './registry-client.ts';

export interface RegistryAccessOptions {
  /** A file as `docker login` writes it. Every caller's images are fetched with it. */
  readonly credentialsFile?: string | undefined;
  /** The host of references that name none. */
  readonly defaultRegistry?: string | undefined;
  /** The hosts that may be asked; undefined: any. A server for several tenants should name them. */
  readonly registries?: readonly string[] | undefined;
  /** For TLS: says whom to trust, where that is more than the process trusts. */
  readonly agent?: Agent | undefined;
}

/** Which registries this server asks, and as whom. */
export class RegistryAccess {
  readonly #options: RegistryAccessOptions;

  constructor(options: RegistryAccessOptions) {
    this.#options = options;
  }

  /** A reference that must be one of a registry. */
  reference(text: string): RegistryReference {
    let reference: ImageReference;
    try {
      reference = parseReference(text, this.#options.defaultRegistry);
    } catch (error) {
      // It is not in a spec that this reference stands.
      if (!hasCode(error, 'spec_invalid')) throw error;
      throw new CaissonError('request_invalid', error.message, { hint: error.hint });
    }
    if (reference.kind === 'registry') return reference;
    throw new CaissonError('request_invalid', `\`${text}\` is not an image of a registry`, {
      hint: 'Write `host/name:tag` or `host/name@sha256:…`.',
    });
  }

  /** How a repository is asked. Only of a registry that may be. */
  async place(
    { host, repository }: Pick<RegistryReference, 'host' | 'repository'>,
    given: RegistryCredentials = {},
  ): Promise<RegistryPlace> {
    const { credentialsFile, registries, agent } = this.#options;
    if (registries !== undefined && !registries.includes(host))
      throw new CaissonError('registry_failed', `the registry ${host} is not one that this server asks`, {
        hint: `It asks ${registries.join(', ') || 'none'}.`,
      });
    const kept = credentialsFile === undefined ? {} : await readCredentialsFile(credentialsFile);
    return { host, repository, credential: given[host] ?? kept[host], agent };
  }
}
