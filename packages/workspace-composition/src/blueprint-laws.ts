import type * as z from 'zod';
import type { WorkspaceBlueprint } from './blueprint.ts';
import type { SpecProblemCode } from './spec-error.ts';
import { isDistribution } from './vocabulary.ts';

/** The laws of a blueprint that no single field can state. The spec reader upholds them; the schema checks them. */
type Context = z.core.$RefinementCtx<WorkspaceBlueprint>;

export function checkBlueprintLaws(blueprint: WorkspaceBlueprint, context: Context): void {
  checkInputs(blueprint, context);
  checkPackages(blueprint, context);
  checkStepIds(blueprint.lifecycle.setup, ['lifecycle', 'setup'], context);
  checkStepIds(blueprint.lifecycle.startup.steps, ['lifecycle', 'startup', 'steps'], context);
  checkNetwork(blueprint, context);
  checkOs(blueprint, context);
}

function checkInputs({ sources }: WorkspaceBlueprint, context: Context): void {
  checkArchive(sources.workspace, ['sources', 'workspace'], context);
  const counts = new Map<string, number>();
  sources.inputs.forEach((input, index) => {
    checkArchive(input, ['sources', 'inputs', index], context);
    const count = (counts.get(input.purpose) ?? 0) + 1;
    counts.set(input.purpose, count);
    const id = `${input.purpose}-${count}`;
    if (input.id !== id) {
      report(context, ['sources', 'inputs', index, 'id'], 'invalid_value', `The id of this input is \`${id}\`.`);
    }
  });
}

function checkArchive(
  source: { kind: string; path?: string; url?: string },
  path: PropertyKey[],
  context: Context,
): void {
  if (source.kind !== 'archive' || (source.path === undefined) !== (source.url === undefined)) return;
  report(context, path, 'conflict', 'An archive has either a `path` or a `url`.');
}

function checkPackages({ tooling }: WorkspaceBlueprint, context: Context): void {
  const seen = new Set<string>();
  tooling.packages.forEach(({ id }, index) => {
    if (seen.has(id)) report(context, ['tooling', 'packages', index], 'duplicate', 'The package is already listed.');
    seen.add(id);
  });
}

function checkStepIds(steps: readonly { id: string }[], path: PropertyKey[], context: Context): void {
  const seen = new Set<string>();
  steps.forEach(({ id }, index) => {
    if (seen.has(id)) report(context, [...path, index, 'id'], 'duplicate', 'Another step already has this id.');
    seen.add(id);
  });
}

/** No limits and no secrets are written one way: not at all. */
function checkNetwork({ runtime: { network } }: WorkspaceBlueprint, context: Context): void {
  const path = ['runtime', 'network'];
  const { limits, secrets } = network;
  if (limits !== undefined && Object.keys(limits).length === 0) {
    report(context, [...path, 'limits'], 'invalid_value', 'Without a limit there are no `limits`.');
  }
  if (secrets?.length === 0) {
    report(context, [...path, 'secrets'], 'invalid_value', 'Without a secret there are no `secrets`.');
  }
  secrets?.forEach((secret, index) => {
    if (secrets.indexOf(secret) === index) return;
    report(context, [...path, 'secrets', index], 'duplicate', 'The secret is already listed.');
  });
}

function checkOs({ target: { os } }: WorkspaceBlueprint, context: Context): void {
  const path = ['target', 'os'];
  if (os.release !== undefined && !isDistribution(os.family)) {
    report(context, [...path, 'release'], 'conflict', `The family \`${os.family}\` has no releases to choose from.`);
  }
  if (os.family === 'image' && os.reference === undefined) {
    report(context, [...path, 'reference'], 'required', 'The family `image` needs a `reference`.');
  }
  if (os.family !== 'image' && os.reference !== undefined) {
    report(context, [...path, 'reference'], 'conflict', 'Only the family `image` has a `reference`.');
  }
}

function report(context: Context, path: PropertyKey[], code: SpecProblemCode, message: string): void {
  context.addIssue({ code: 'custom', path, message, params: { code } });
}
