import { CaissonError, type NetworkRules, type Owner } from '@caisson/contract';
import { readGitAddress } from '../../images/sources/git-address.ts';
import type { Converse } from '../../images/sources/remote.ts';
import type { Reach } from '../../network/dial/reach.ts';
import type { Credential, Credentials } from './credentials.ts';
import { httpRemote } from './http-remote.ts';
import type { GitSource, NamedSource } from './source-name.ts';
import { sshRemote } from './ssh-remote.ts';

export interface RemotesOptions {
  readonly reach: Reach;
  readonly credentials: Credentials;
  readonly idleMs?: number | undefined;
}

/** A way to talk with the repository of a source, and with those that it names itself. */
export type ConverseWith = (url: string) => Converse;

/** Who is talked with how. Its credential is looked up once, and each host is told only what is bound to it. */
export async function remotesOf(
  { reach, credentials, idleMs }: RemotesOptions,
  named: NamedSource<GitSource>,
  owner: Owner,
  rules: NetworkRules,
): Promise<ConverseWith> {
  const address = addressOf(named.source.url);
  const credential = await credentials.of(owner, named, address);
  return (url) => {
    const to = addressOf(url);
    if (to.scheme !== 'ssh') return httpRemote({ reach, rules, url, credential, idleMs });
    return sshRemote({ reach, rules, address: to, credential: forHost(credential, address, to), idleMs });
  };
}

/** A key is for its host alone. */
function forHost(credential: Credential | undefined, own: { host: string; port: number }, to: typeof own) {
  return own.host === to.host && own.port === to.port ? credential : undefined;
}

function addressOf(url: string) {
  const address = readGitAddress(url);
  if (address === undefined || address.scheme === 'git')
    throw new CaissonError('source_failed', 'over `git://` nobody can tell who answers', {
      hint: 'Use its `https://` address, or ssh.',
    });
  return address;
}
