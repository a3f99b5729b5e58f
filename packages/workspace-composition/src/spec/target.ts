import type { WorkspaceBlueprint } from '../blueprint.ts';
import { isDistribution, osFamilies, targetModes } from '../vocabulary.ts';
import { reported } from './bounds.ts';
import { Fields, isObject, readChoice, readText, shape } from './fields.ts';
import { driverNameRule, imageReferenceRule, releaseRule } from './names.ts';
import type { Problems } from './problems.ts';
import { reportWrongType } from './wrong-type.ts';

type Os = WorkspaceBlueprint['target']['os'];
type TargetRuntime = WorkspaceBlueprint['target']['runtime'];

export const targetShape = shape('`target`', 'os', 'runtime');
const osShape = shape('`os`', 'family', 'mode', 'release', 'reference');
const targetRuntimeShape = shape('`target.runtime`', 'name', 'mode');

export function readOs(value: unknown, path: string, problems: Problems): Os {
  const os: Os = { family: 'auto', mode: 'prefer' };
  if (value === undefined || value === reported) return os;
  if (typeof value === 'string') {
    os.family = readChoice(value, path, osFamilies, problems) ?? 'auto';
    if (value === 'image') problems.add(path, 'required', ...missingReference);
    return os;
  }
  if (!isObject(value)) {
    reportWrongType(problems, path, value, 'an OS family or object');
    return os;
  }
  const fields = Fields.of(value, path, osShape, problems);
  if (fields === undefined) return os;
  const family = fields.choice('family', osFamilies);
  fields.require('family', 'The OS needs a `family`.');
  os.family = family ?? 'auto';
  os.mode = fields.choice('mode', targetModes) ?? 'prefer';
  const release = fields.text('release', releaseRule);
  const reference = fields.text('reference', imageReferenceRule);
  if (release !== undefined) os.release = release;
  if (reference !== undefined) os.reference = reference;
  if (family !== undefined) checkBelonging(fields, family);
  return os;
}

/** A driver's name, or `auto`. Which drivers exist is known when routing, not here. */
export function readTargetRuntime(value: unknown, path: string, problems: Problems): TargetRuntime {
  const runtime: TargetRuntime = { name: 'auto', mode: 'prefer' };
  if (value === undefined || value === reported) return runtime;
  if (typeof value === 'string') {
    runtime.name = readText(value, path, driverNameRule, problems) ?? 'auto';
    return runtime;
  }
  if (!isObject(value)) {
    reportWrongType(problems, path, value, 'a driver name or object');
    return runtime;
  }
  const fields = Fields.of(value, path, targetRuntimeShape, problems);
  runtime.name = fields?.text('name', driverNameRule) ?? 'auto';
  fields?.require('name', 'The runtime needs a `name`.');
  runtime.mode = fields?.choice('mode', targetModes) ?? 'prefer';
  return runtime;
}

const missingReference = [
  'The family `image` needs a `reference`.',
  'Write `{family: image, reference: …}` with a registry reference or a path.',
] as const;

function checkBelonging(fields: Fields, family: Os['family']): void {
  if (fields.has('release') && !isDistribution(family)) {
    fields.problems.add(
      fields.pathOf('release'),
      'conflict',
      `The family \`${family}\` has no releases to choose from.`,
    );
  }
  if (family === 'image') fields.require('reference', ...missingReference);
  else if (fields.has('reference')) {
    fields.problems.add(fields.pathOf('reference'), 'conflict', 'Only the family `image` has a `reference`.');
  }
}
