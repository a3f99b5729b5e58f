import type { InputSource, WorkspaceSource } from '../blueprint.ts';
import { inputKinds, inputPurposes, sourceKinds, sourceProviders } from '../vocabulary.ts';
import { reported } from './bounds.ts';
import { Fields, isObject, readText, shape } from './fields.ts';
import { gitRefRule } from './git-ref.ts';
import { archiveUrlRule, gitUrlRule, inferProvider } from './git-url.ts';
import { maxInputs } from './limits.ts';
import { secretRefRule } from './names.ts';
import { localPathRule, mountPathRule } from './paths.ts';
import type { Problems } from './problems.ts';
import { reportWrongType } from './wrong-type.ts';

type SourceKind = (typeof sourceKinds)[number];
type InputContent = Exclude<WorkspaceSource, { kind: 'none' }>;

const gitKeys = ['kind', 'provider', 'url', 'ref', 'authRef', 'submodules'];
const folderKeys = ['kind', 'path'];
const archiveKeys = ['kind', 'path', 'url'];
const inputKeys = ['id', 'purpose', 'mountPath'];

const sourceShapes = {
  git: shape('a git source', ...gitKeys),
  folder: shape('a folder source', ...folderKeys),
  archive: shape('an archive source', ...archiveKeys),
  none: shape('an absent source', 'kind'),
  unclear: shape('a source', ...gitKeys, ...archiveKeys),
};

const inputShapes = {
  git: shape('a git input', ...inputKeys, ...gitKeys),
  folder: shape('a folder input', ...inputKeys, ...folderKeys),
  archive: shape('an archive input', ...inputKeys, ...archiveKeys),
  unclear: shape('an input', ...inputKeys, ...gitKeys, ...archiveKeys),
};

/** A workspace source in any of its forms; undefined after reporting. */
export function readSource(value: unknown, path: string, problems: Problems): WorkspaceSource | undefined {
  if (value === reported) return undefined;
  if (typeof value === 'string') {
    const url = readText(value, path, gitUrlRule, problems);
    return url === undefined ? undefined : { kind: 'git', provider: inferProvider(url), url };
  }
  if (!isObject(value)) {
    reportWrongType(problems, path, value, 'a git URL or a source object');
    return undefined;
  }
  const fields = Fields.of(value, path, sourceShapes[evidentKind(value)], problems);
  const kind = fields === undefined ? undefined : readKind(fields, sourceKinds);
  if (fields === undefined || kind === undefined) return undefined;
  return kind === 'none' ? { kind } : readContent(fields, kind);
}

/** The inputs, with their ids: the n-th input of a purpose is `<purpose>-<n>`, counted from 1. */
export function readInputs(fields: Fields, key: string): InputSource[] {
  const { problems } = fields;
  const counts = new Map<string, number>();
  return fields.list(
    key,
    (value, path) => {
      const evident = isObject(value) ? evidentKind(value) : 'unclear';
      const input = Fields.of(value, path, inputShapes[evident === 'none' ? 'unclear' : evident], problems);
      if (input === undefined) return undefined;
      const purpose = input.choice('purpose', inputPurposes);
      input.require('purpose', 'An input says what it is for.', 'Add `purpose: config`, `dotfiles` or `bootstrap`.');
      const kind = readKind(input, inputKinds);
      const mountPath = input.text('mountPath', mountPathRule);
      const content = kind === undefined ? undefined : readContent(input, kind);
      if (purpose === undefined) return undefined;
      const count = (counts.get(purpose) ?? 0) + 1;
      counts.set(purpose, count);
      const id = `${purpose}-${count}`;
      checkId(input, id);
      if (content === undefined) return undefined;
      return mountPath === undefined ? { id, purpose, ...content } : { id, purpose, ...content, mountPath };
    },
    maxInputs,
  );
}

/** The kind whose keys the object is judged by, so that an unknown key is explained in the right terms. */
function evidentKind(value: Readonly<Record<string, unknown>>): SourceKind | 'unclear' {
  return sourceKinds.find((kind) => kind === value.kind) ?? 'unclear';
}

function readKind<Kind extends SourceKind>(fields: Fields, kinds: readonly Kind[]): Kind | undefined {
  const kind = fields.choice('kind', kinds);
  fields.require('kind', 'A source says its kind.', `Add \`kind: ${fields.has('path') ? 'folder' : 'git'}\`.`);
  return kind;
}

function readContent(fields: Fields, kind: InputContent['kind']): InputContent | undefined {
  if (kind === 'git') return readGit(fields);
  return kind === 'folder' ? readFolder(fields) : readArchive(fields);
}

function readGit(fields: Fields): InputContent | undefined {
  const url = fields.text('url', gitUrlRule);
  fields.require('url', 'A git source needs a `url`.');
  const provider = fields.choice('provider', sourceProviders);
  const ref = fields.text('ref', gitRefRule);
  const authRef = fields.text('authRef', secretRefRule);
  const submodules = fields.flag('submodules');
  if (url === undefined) return undefined;
  const source: InputContent = { kind: 'git', provider: provider ?? inferProvider(url), url };
  if (ref !== undefined) source.ref = ref;
  if (authRef !== undefined) source.authRef = authRef;
  if (submodules === true) source.submodules = true;
  return source;
}

function readFolder(fields: Fields): InputContent | undefined {
  const path = fields.text('path', localPathRule);
  fields.require('path', 'A folder source needs a `path`.');
  return path === undefined ? undefined : { kind: 'folder', path };
}

function readArchive(fields: Fields): InputContent | undefined {
  const path = fields.text('path', localPathRule);
  const url = fields.text('url', archiveUrlRule);
  if (fields.has('path') && fields.has('url')) {
    fields.problems.add(fields.path, 'conflict', 'An archive has a `path` or a `url`, not both.');
  } else if (!fields.has('url') && !fields.meant('url')) {
    fields.require('path', 'An archive source needs a `path` or a `url`.');
  }
  if (path !== undefined) return { kind: 'archive', path };
  return url === undefined ? undefined : { kind: 'archive', url };
}

function checkId(input: Fields, id: string): void {
  const given = input.raw('id');
  if (given === undefined || given === reported || given === id) return;
  if (typeof given !== 'string') reportWrongType(input.problems, input.pathOf('id'), given, 'a string');
  else input.problems.add(input.pathOf('id'), 'invalid_value', `The id of this input is \`${id}\`.`, 'Leave `id` out.');
}
