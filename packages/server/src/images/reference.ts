import { isAbsolute } from 'node:path';
import { CaissonError } from '@caisson/contract';

/** What the `reference` of the family `image` means. */
export type ImageReference = RegistryReference | LocalReference;

export interface RegistryReference {
  readonly kind: 'registry';
  /** Host and port. */
  readonly host: string;
  readonly repository: string;
  /** Exactly one of the two counts: a digest makes the tag beside it a remark. */
  readonly tag: string;
  readonly digest?: string;
}

export interface LocalReference {
  readonly kind: 'oci' | 'oci-archive' | 'docker-archive';
  readonly path: string;
  readonly tag?: string;
}

const localForm = /^(oci|oci-archive|docker-archive):(.*)$/s;
const hostForm = /^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])(?::\d{1,5})?$/i;
const repositoryForm = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*$/;
const tagForm = /^\w[\w.-]{0,127}$/;
const forms = '`host/name:tag`, `host/name@sha256:…`, `oci:/path`, `oci-archive:/path` or `docker-archive:/path`';

/** Whether it is a path of the server's machine. */
export function isLocalReference(text: string): boolean {
  return localForm.test(text);
}

export function parseReference(text: string, defaultRegistry?: string): ImageReference {
  const local = localForm.exec(text);
  if (local) return parseLocal(local[1] as LocalReference['kind'], local[2] ?? '', text);
  return parseRegistry(text, defaultRegistry);
}

function parseLocal(kind: LocalReference['kind'], rest: string, text: string): LocalReference {
  // A colon in a folder's name is followed by a slash somewhere; that of a tag never is.
  const colon = rest.indexOf(':', rest.lastIndexOf('/') + 1);
  const path = colon === -1 ? rest : rest.slice(0, colon);
  const tag = colon === -1 ? undefined : rest.slice(colon + 1);
  if (!isAbsolute(path)) throw refuse(text, 'the path must be absolute: it is one of the machine of the server');
  if (tag === '' || tag?.includes('/')) throw refuse(text, 'the tag is empty');
  return { kind, path, ...(tag === undefined ? {} : { tag }) };
}

function parseRegistry(text: string, defaultRegistry: string | undefined): RegistryReference {
  const [named = '', digest, more] = text.split('@');
  if (more !== undefined || (digest !== undefined && !/^sha256:[0-9a-f]{64}$/.test(digest)))
    throw refuse(text, 'what follows `@` is not `sha256:` and 64 hexadecimal digits');
  const slash = named.indexOf('/');
  const first = slash === -1 ? '' : named.slice(0, slash);
  // As everywhere: a first part with a dot or a port, or `localhost`, is a host; any other belongs to the name.
  const hasHost = first === 'localhost' || /[.:]/.test(first);
  const host = hasHost ? first : defaultRegistry;
  if (host === undefined)
    throw refuse(text, 'it names no registry', `Write the registry's host before the name: ${forms}.`);
  const rest = hasHost ? named.slice(slash + 1) : named;
  const colon = rest.indexOf(':', rest.lastIndexOf('/') + 1);
  const repository = colon === -1 ? rest : rest.slice(0, colon);
  const tag = colon === -1 ? 'latest' : rest.slice(colon + 1);
  if (!hostForm.test(host)) throw refuse(text, `\`${host}\` is not a host`);
  if (!repositoryForm.test(repository)) throw refuse(text, `\`${repository}\` is not the name of a repository`);
  if (!tagForm.test(tag)) throw refuse(text, `\`${tag}\` is not a tag`);
  return { kind: 'registry', host: host.toLowerCase(), repository, tag, ...(digest === undefined ? {} : { digest }) };
}

function refuse(text: string, why: string, hint = `Write ${forms}.`): CaissonError {
  return new CaissonError('spec_invalid', `the image reference \`${text}\` is not valid: ${why}`, {
    hint,
    problems: [{ path: 'target.os.reference', code: 'invalid_value', message: why, hint }],
  });
}
