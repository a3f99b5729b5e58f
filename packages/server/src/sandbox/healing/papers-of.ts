import { type Attempt, type NetworkRules, networkRulesOf, type Sandbox, systemOwner } from '@caisson/contract';
import { canonicalJson, type WorkspaceBlueprint } from '@caisson/workspace-composition';
import type { AttemptImage } from '../../store/attempts.ts';
import type { WorkContext } from '../work-context.ts';
import { installationLabels } from './instance-labels.ts';

/** The labels of an instance that is about to be launched. What belongs to nobody yet has no papers. */
export async function instanceLabels(
  { papers, store, installation }: WorkContext,
  sandbox: Sandbox,
  plan: { readonly attempt: Attempt; readonly blueprint: WorkspaceBlueprint; readonly rules: NetworkRules | undefined },
  image: AttemptImage | undefined,
): Promise<Record<string, string>> {
  const own = installationLabels(installation);
  if (!papers || sandbox.owner.tenant === systemOwner.tenant) return own;
  const { id, action, spec, resolvedSpec, blueprintDigest } = plan.attempt;
  const { owner, incarnation, name, profile, labels, persistence, notices, policy, lease, expiresAt } = sandbox;
  return {
    ...own,
    ...papers.labels({
      sandbox: sandbox.id,
      incarnation,
      driver: sandbox.driver ?? '',
      host: sandbox.host ?? '',
      owner,
      name,
      slot: await store.adoptions.slotOf(sandbox.id),
      profile,
      labels,
      persistence,
      notices,
      policy,
      lease,
      createdAt: Date.parse(sandbox.createdAt),
      expiresAt: expiresAt === null ? null : Date.parse(expiresAt),
      attempt: { id, action, spec, resolvedSpec, blueprint: plan.blueprint, blueprintDigest },
      image: image ?? null,
      rules: changedRules(plan.blueprint, plan.rules),
    }),
  };
}

/** Null while they are what the blueprint asks for. */
function changedRules({ runtime }: WorkspaceBlueprint, rules: NetworkRules | undefined): NetworkRules | null {
  if (!rules) return null;
  return canonicalJson(rules) === canonicalJson(networkRulesOf(runtime.network)) ? null : rules;
}
