import type { PackageRequest } from '../blueprint.ts';
import { reported } from './bounds.ts';
import { Fields, isObject, readList, readText, shape } from './fields.ts';
import { packageIdRule, versionRule } from './names.ts';
import type { Problems } from './problems.ts';
import { quote } from './quote.ts';
import { reportWrongType } from './wrong-type.ts';

const packageShape = shape('a package', 'id', 'version');

/**
 * The requested packages in order of first mention, one entry per id. A repeat that adds nothing folds into the first
 * mention; a repeat that adds a version gives it to the first; two different versions of one id cannot both be meant.
 */
export function readPackages(value: unknown, path: string, problems: Problems): PackageRequest[] {
  const byId = new Map<string, PackageRequest>();
  const read = (entry: unknown, entryPath: string): undefined => {
    const request = readPackage(entry, entryPath, problems);
    if (request === undefined) return;
    const first = byId.get(request.id);
    if (first === undefined) byId.set(request.id, request);
    else merge(first, request, entryPath, problems);
  };
  if (typeof value === 'string' || isObject(value)) read(value, path);
  else readList(value, path, read, problems);
  return [...byId.values()];
}

function readPackage(value: unknown, path: string, problems: Problems): PackageRequest | undefined {
  if (value === reported) return undefined;
  if (typeof value === 'string') return readPackageText(value, path, problems);
  if (!isObject(value)) {
    reportWrongType(problems, path, value, 'a package name or object');
    return undefined;
  }
  const fields = Fields.of(value, path, packageShape, problems);
  const id = fields?.text('id', packageIdRule);
  fields?.require('id', 'A package needs an `id`.');
  return request(id, fields?.text('version', versionRule));
}

/** `name`, `name@version`, `@scope/name` or `@scope/name@version`: an `@` in front belongs to the name. */
function readPackageText(text: string, path: string, problems: Problems): PackageRequest | undefined {
  const at = text.lastIndexOf('@');
  if (at <= 0) return request(readText(text, path, packageIdRule, problems), undefined);
  const id = readText(text.slice(0, at), path, packageIdRule, problems);
  // One entry, one problem: a broken version is not reported on top of a broken name.
  if (id === undefined) return undefined;
  const version = readText(text.slice(at + 1), path, versionRule, problems);
  return version === undefined ? undefined : { id, version };
}

function request(id: string | undefined, version: string | undefined): PackageRequest | undefined {
  if (id === undefined) return undefined;
  return version === undefined ? { id } : { id, version };
}

function merge(first: PackageRequest, repeat: PackageRequest, path: string, problems: Problems): void {
  if (repeat.version === undefined || repeat.version === first.version) return;
  if (first.version === undefined) {
    first.version = repeat.version;
    return;
  }
  const both = `${quote(first.version)} and ${quote(repeat.version)}`;
  problems.add(path, 'version_conflict', `The package ${quote(repeat.id)} is requested in two versions: ${both}.`);
}
