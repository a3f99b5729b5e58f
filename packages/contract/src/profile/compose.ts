import { fillInputs, type InputValues, resolveInputs } from './inputs.ts';
import { mergeSpecs } from './merge-spec.ts';
import type { ResolvedProfile } from './profile.ts';

/**
 * The spec that a create request stands for: the profile's defaults with the inputs filled in, under what the caller
 * wrote. `resources` and `network` of a profile are defaults of `runtime`, weaker than the profile's own spec.
 */
export function composeSpec(
  profile: ResolvedProfile | undefined,
  inputs: InputValues,
  spec: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  if (profile === undefined) return { ...spec };
  const values = resolveInputs(profile, inputs);
  const filled = fillInputs(profile.spec ?? {}, values) as Record<string, unknown>;
  return mergeSpecs(mergeSpecs(runtimeDefaults(profile), filled), spec);
}

function runtimeDefaults(profile: ResolvedProfile): Record<string, unknown> {
  const runtime: Record<string, unknown> = {};
  if (profile.resources) runtime.resources = profile.resources;
  if (profile.network) runtime.network = profile.network;
  return Object.keys(runtime).length === 0 ? {} : { runtime };
}
