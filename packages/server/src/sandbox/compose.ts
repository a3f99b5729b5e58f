import {
  type Attempt,
  CaissonError,
  composeSpec,
  type InputValues,
  newId,
  presetNames,
  type ResolvedProfile,
} from '@caisson/contract';
import { normalizeUserWorkspaceSpec, SpecError, type WorkspaceBlueprint } from '@caisson/workspace-composition';
import { blueprintDigest } from '@caisson/workspace-composition/digest';
import type { NewAttempt } from '../store/attempts.ts';

export interface Composed {
  readonly spec: Readonly<Record<string, unknown>>;
  readonly resolvedSpec: Readonly<Record<string, unknown>>;
  readonly blueprint: WorkspaceBlueprint;
  readonly digest: string;
}

/** From what a caller wrote to the blueprint that is launched, with everything that an attempt keeps. */
export function compose(
  profile: ResolvedProfile | undefined,
  inputs: InputValues,
  spec: Readonly<Record<string, unknown>>,
): Composed {
  const resolvedSpec = composeSpec(profile, inputs, spec);
  const blueprint = normalize(resolvedSpec, profile?.sourceRequired ?? true);
  return { spec, resolvedSpec, blueprint, digest: blueprintDigest(blueprint) };
}

export function newAttempt(action: Attempt['action'], composed: Composed): NewAttempt {
  const { spec, resolvedSpec, blueprint, digest } = composed;
  return { id: newId('attempt'), action, spec, resolvedSpec, blueprint, blueprintDigest: digest };
}

export function normalize(spec: unknown, requireSource: boolean): WorkspaceBlueprint {
  try {
    return normalizeUserWorkspaceSpec(spec, { requireSource, presets: presetNames });
  } catch (error) {
    if (!(error instanceof SpecError)) throw error;
    const [first] = error.problems;
    const more = error.problems.length > 1 ? ` (and ${error.problems.length - 1} more)` : '';
    throw new CaissonError('spec_invalid', `${first?.path}: ${first?.message}${more}`, { problems: error.problems });
  }
}
