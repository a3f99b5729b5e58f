import { createHash } from 'node:crypto';
import { type NetworkRules, networkRulesOf, type Owner, type WorkspaceBlueprint } from '@caisson/contract';
import { canonicalJson, type ResolvedImagePlan } from '@caisson/workspace-composition';
import { reachOf } from '../images/builders/step-key.ts';
import { needsContext } from './build-context.ts';

/**
 * What the steps of a build may reach. A sandbox that may reach little still has its packages installed: where the spec
 * closes the network, the steps reach the distribution's mirror and the npm registry, and what the spec allows besides.
 * Limits and secrets are for what runs later.
 */
export function buildRules(blueprint: WorkspaceBlueprint, { os, harness }: ResolvedImagePlan): NetworkRules {
  return stepRules(networkRulesOf(blueprint.runtime.network), os.family, harness !== undefined);
}

/** The same by the rules that a sandbox has, for steps on this base. */
export function stepRules({ mode, allow, deny }: NetworkRules, family: string, hasHarness = false): NetworkRules {
  const common = { limits: {}, secrets: [] };
  if (mode === 'open') return { ...common, mode, allow, deny };
  const mirrors = mirrorPresets[family] ?? [];
  const needed = [...mirrors, ...(hasHarness ? ['preset:npm'] : [])];
  const named = mode === 'off' ? [] : allow;
  return { ...common, mode: 'allowlist', allow: [...new Set([...named, ...needed])], deny: mode === 'off' ? [] : deny };
}

const mirrorPresets: Readonly<Record<string, readonly string[]>> = {
  debian: ['preset:debian'],
  ubuntu: ['preset:ubuntu'],
  alpine: ['preset:alpine'],
};

/**
 * Builds with one key give images that stand in for each other. The rules belong to it: what a step could not reach it
 * may have left out, and that must not become the image of somebody who may reach it. With files from elsewhere it is
 * the project's own: a commit is easily named by somebody who may not see it.
 */
export function buildKey(planDigest: string, plan: ResolvedImagePlan, rules: NetworkRules, owner: Owner): string {
  const whose = needsContext(plan) ? [owner.tenant, owner.project] : [];
  const text = canonicalJson({ planDigest, rules: reachOf(rules), whose });
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

/** Of these only one is under way: those of one project wait for one build, and nobody sees or stops a stranger's. */
export function sharedBuildKey(key: string, { tenant, project }: Owner): string {
  return `build ${key} ${tenant}/${project}`;
}
