import type { SourceProvider } from '../vocabulary.ts';
import type { Fault } from './problems.ts';
import { quote } from './quote.ts';
import type { TextRule } from './text.ts';

/**
 * Git addresses: `https`, `http`, `ssh` and `git` URLs, and the short `user@host:path`.
 *
 * Laws: no part that git hands to another program may begin with `-`; a spec is stored and shown, so an address
 * carries no credentials; a local folder is its own kind of source and not an address.
 */
const urlParts = /^([a-z]+):\/\/(?:([^/@]*)@)?(\[[0-9A-Fa-f:.]+\]|[^/:@[\]]+)(?::([0-9]{1,5}))?(\/.*)?$/;
const shortParts = /^([^@:/\s]+)@([^@:/\s]+):([^:].*)$/;
const userPattern = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/;
const hostPattern = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\.?)$/;
/** White space, back slashes, and the encoded line breaks and NULs that have split requests before. */
const unsafe = /[\s\\]|%0[0ad]/i;
/** Query names that hold a credential: the archive address is stored with the spec. */
const secretQuery =
  /[?&](?:access_?token|token|sig|signature|x-[a-z]+-(?:signature|credential|security-token)|password|api_?key)=/i;

const credentialHint = 'Store the credential and name it with `authRef`.';

export const gitUrlRule: TextRule = { noun: 'A git URL', maxBytes: 2_048, check: faultOfGitUrl };
export const archiveUrlRule: TextRule = { noun: 'An archive URL', maxBytes: 2_048, check: faultOfArchiveUrl };

export function faultOfGitUrl(text: string): Fault | undefined {
  if (text.startsWith('file:')) {
    return invalid('A `file:` URL is not a git source.', 'Write `{kind: folder, path: …}` for a local folder.');
  }
  if (unsafe.test(text)) return notGitUrl(text);
  const url = urlParts.exec(text);
  if (url !== null) {
    const [, scheme = '', user, host = '', port, path] = url;
    if (!['https', 'http', 'ssh', 'git'].includes(scheme)) return notGitUrl(text);
    const fault = faultOfAuthority(scheme, user, host, port);
    if (fault !== undefined) return fault;
    if (path === undefined || /^\/*$/.test(path)) return invalid(`${quote(text)} names no repository.`);
    if (/[?#]/.test(path)) {
      return invalid('A git URL has no `?` or `#` part.', 'Name a branch, tag or commit with `ref`.');
    }
    return undefined;
  }
  const short = text.includes('://') ? null : shortParts.exec(text);
  if (short === null) return notGitUrl(text);
  const [, user = '', host = '', path = ''] = short;
  return userPattern.test(user) && hostPattern.test(host) && !path.startsWith('-') ? undefined : notGitUrl(text);
}

export function faultOfArchiveUrl(text: string): Fault | undefined {
  const url = unsafe.test(text) ? null : urlParts.exec(text);
  const [, scheme = '', user, host = '', port, path] = url ?? [];
  if (url === null || !['https', 'http'].includes(scheme)) {
    return invalid(`${quote(text)} is not an archive URL.`, 'Write an `https://` URL, or `path` for a local archive.');
  }
  if (path === undefined || path === '/') return invalid(`${quote(text)} names no archive.`);
  if (secretQuery.test(path)) {
    return invalid('The archive URL carries a credential.', 'A spec is stored: use a public URL.');
  }
  return faultOfAuthority(scheme, user, host, port);
}

/** `github.com` or below it, `gitlab.com` or below it, anything else. */
export function inferProvider(url: string): SourceProvider {
  const host = (urlParts.exec(url)?.[3] ?? shortParts.exec(url)?.[2] ?? '').toLowerCase().replace(/\.$/, '');
  if (host === 'github.com' || host.endsWith('.github.com')) return 'github';
  if (host === 'gitlab.com' || host.endsWith('.gitlab.com')) return 'gitlab';
  return 'generic';
}

function faultOfAuthority(scheme: string, user: string | undefined, host: string, port?: string): Fault | undefined {
  // The address itself is not quoted here: the message would repeat the credential.
  if (user !== undefined && (scheme !== 'ssh' || user.includes(':'))) {
    return invalid('The URL carries credentials.', credentialHint);
  }
  if (user !== undefined && !userPattern.test(user)) return invalid(`${quote(user)} is not a user name.`);
  if (!hostPattern.test(host)) return invalid(`${quote(host)} is not a host name.`);
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)) {
    return invalid(`${quote(port)} is not a port.`);
  }
  return undefined;
}

function notGitUrl(text: string): Fault {
  if (/^(?:\.{0,2}\/|~|\.{1,2}$)/.test(text)) {
    return invalid(`${quote(text)} is not a git URL.`, 'Write `{kind: folder, path: …}` for a local folder.');
  }
  if (/^[A-Za-z0-9-]+\/[A-Za-z0-9._-]+$/.test(text)) {
    return invalid(`${quote(text)} is not a git URL.`, `Write the whole URL, such as \`https://github.com/${text}\`.`);
  }
  // Anything before an `@` may be a credential in a form we could not read.
  const shown = text.includes('@') ? 'The value' : quote(text);
  return invalid(
    `${shown} is not a git URL.`,
    'Write an `https://`, `http://`, `ssh://` or `git://` URL, or `user@host:path`.',
  );
}

function invalid(message: string, hint?: string): Fault {
  return hint === undefined ? { code: 'invalid_value', message } : { code: 'invalid_value', message, hint };
}
