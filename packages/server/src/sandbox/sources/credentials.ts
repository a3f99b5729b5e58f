import { CaissonError, type Owner } from '@caisson/contract';
import type { GitAddress } from '../../images/sources/git-address.ts';
import { matchesDomain } from '../../network/secrets/bound-secrets.ts';
import type { LiveSecret, ProjectSecrets } from '../../network/secrets/project-secrets.ts';
import type { GitSource, NamedSource } from './source-name.ts';

/** Whoever takes a token as a password wants some name beside it. */
const tokenUsers: Readonly<Record<GitSource['provider'], string>> = {
  github: 'x-access-token',
  gitlab: 'oauth2',
  generic: 'x-access-token',
};

/**
 * A stored secret as the credential of a source. It stays in the server: what is fetched with it comes into a sandbox, and
 * the credential does not.
 */
export interface Credential {
  readonly name: string;
  /** For ssh: a private key, and perhaps lines of known hosts. */
  readonly value: string;
  /** Fields for a request to this host; none where the secret is not bound to it. */
  headersFor(host: string, port: number): Readonly<Record<string, string>>;
}

export class Credentials {
  readonly #projects: Pick<ProjectSecrets, 'of'>;

  constructor(projects: Pick<ProjectSecrets, 'of'>) {
    this.#projects = projects;
  }

  /** Undefined for a source that names none. Refuses one that is not there, or that is not for the source's host. */
  async of(
    owner: Owner,
    { source, path }: NamedSource<GitSource>,
    { scheme, host, port }: GitAddress,
  ): Promise<Credential | undefined> {
    const { authRef } = source;
    if (authRef === undefined) return undefined;
    const refuse = (message: string, hint: string, code = 'invalid_value') => {
      const problem = { path: `${path}.authRef`, code, message, hint };
      return new CaissonError('spec_invalid', `${problem.path}: ${message}`, { problems: [problem], hint });
    };
    if (scheme === 'http' || scheme === 'git')
      throw refuse(`Over \`${scheme}://\` the secret would be read by everybody on the way.`, 'Use `https://` or ssh.');
    const { byName, unreadable } = await this.#projects.of(owner);
    if (unreadable.has(authRef)) throw new CaissonError('secret_unreadable', `the secret ${authRef} cannot be read`);
    const secret = byName.get(authRef);
    if (secret === undefined)
      throw refuse(
        `There is no secret \`${authRef}\` in this project.`,
        'Store it with `caisson secret set`, or correct its name.',
        'not_found',
      );
    if (!isBoundTo(secret, host, port))
      throw refuse(
        `The secret \`${authRef}\` is not for ${host}:${port}.`,
        `It goes only to hosts it is bound to: set it again with \`--domain ${host}${port === 443 ? '' : ` --port ${port}`}\`.`,
      );
    const headersFor = (to: string, at: number) =>
      isBoundTo(secret, to, at) ? headersOf(secret, tokenUsers[source.provider]) : {};
    return { name: authRef, value: secret.value, headersFor };
  }
}

function isBoundTo({ domains, ports }: LiveSecret, host: string, port: number): boolean {
  return ports.includes(port) && domains.some((domain) => matchesDomain(domain, host));
}

/** The secret's own header where it has one; otherwise a password, with its user before a colon or without one. */
function headersOf({ header, value }: LiveSecret, user: string): Readonly<Record<string, string>> {
  const bytes = Buffer.from(value, 'utf8');
  if (header) return { [header.name]: header.format.replace('{}', () => bytes.toString('latin1')) };
  const login = value.includes(':') ? bytes : Buffer.concat([Buffer.from(`${user}:`), bytes]);
  return { authorization: `Basic ${login.toString('base64')}` };
}
