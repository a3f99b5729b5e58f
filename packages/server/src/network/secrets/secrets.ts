import { randomBytes } from 'node:crypto';
import { CaissonError, type Secret, type SetSecret } from '@caisson/contract';
import type { SecretPlace, SecretStore } from '../../store/secrets.ts';
import { type Caller, projectOf } from '../../tenancy/caller.ts';
import { matchesDomain } from './bound-secrets.ts';
import { type ProjectSecrets, sealedUnder } from './project-secrets.ts';
import type { Vault } from './vault.ts';

/** What can be asked of secrets. A value goes in here and comes out on the way to its hosts, nowhere else. */
export class Secrets {
  readonly #store: SecretStore;
  readonly #vault: Vault;
  readonly #projects: ProjectSecrets;

  constructor(store: SecretStore, vault: Vault, projects: ProjectSecrets) {
    this.#store = store;
    this.#vault = vault;
    this.#projects = projects;
  }

  async set(caller: Caller, name: string, secret: SetSecret, project?: string): Promise<Secret> {
    const place = placeOf(caller, project);
    const domains = [...new Set(secret.domains)];
    const ports = [...new Set(secret.ports)];
    const header = secret.header ?? null;
    const wantsPlaceholder = secret.placeholder === undefined && (header === null || secret.env !== undefined);
    const bound = { ...place, name, domains, ports, header };
    const stored = await this.#store.put({
      ...bound,
      sealed: this.#vault.seal(secret.value, sealedUnder(bound)),
      placeholder: secret.placeholder ?? (wantsPlaceholder ? newPlaceholder() : null),
      keepsPlaceholder: wantsPlaceholder,
      env: secret.env ?? null,
    });
    await this.#projects.changed(place);
    return stored;
  }

  list(caller: Caller, project?: string): Promise<Secret[]> {
    return this.#store.list(placeOf(caller, project));
  }

  /** The value of a secret for one of the hosts that it is bound to, for what the server itself sends there. */
  async valueFor(caller: Caller, name: string, host: string, port: number): Promise<string> {
    const { byName, unreadable } = await this.#projects.of(placeOf(caller, undefined));
    const secret = byName.get(name);
    if (!secret && unreadable.has(name))
      throw new CaissonError('secret_unreadable', `the secret ${name} cannot be read`);
    if (!secret) throw new CaissonError('secret_not_found', `there is no secret ${name}`);
    if (secret.ports.includes(port) && secret.domains.some((domain) => matchesDomain(domain, host)))
      return secret.value;
    throw new CaissonError('request_invalid', `the secret ${name} does not go to ${host}:${port}`, {
      hint: 'Set it again with this host as a domain, and the port where it is not 443.',
    });
  }

  async delete(caller: Caller, name: string, project?: string): Promise<Secret> {
    const place = placeOf(caller, project);
    const deleted = await this.#store.delete(place, name);
    if (!deleted) throw new CaissonError('secret_not_found', `there is no secret ${name}`);
    await this.#projects.changed(place);
    return deleted;
  }
}

function placeOf(caller: Caller, project: string | undefined): SecretPlace {
  return { tenant: caller.owner.tenant, project: projectOf(caller, project) };
}

/** Nothing else is ever equal to it, and no part of a URL has to be spelled otherwise for it. */
function newPlaceholder(): string {
  return `csn-secret-${randomBytes(16).toString('hex')}`;
}
