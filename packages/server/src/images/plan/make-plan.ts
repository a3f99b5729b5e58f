import { CaissonError, parseOrThrow } from '@caisson/contract';
import {
  type Platform,
  planRepositoryProblem,
  type ResolvedImagePlan,
  repositoryDirectory,
  repositoryPlacement,
  resolvedImagePlanSchema,
  resolvedImagePlanVersion,
  type WorkspaceBlueprint,
} from '@caisson/workspace-composition';
import { launchCommand } from '../harnesses/commands.ts';
import type { HarnessInstall } from '../harnesses/install.ts';
import { findHarness } from '../harnesses/table.ts';
import type { ResolvedPackage } from '../packages/resolution.ts';
import { osFacts } from './os-facts.ts';
import type { PlanPlace } from './plan-place.ts';
import { sandboxUser } from './sandbox-user.ts';

type Input = ResolvedImagePlan['inputs'][number];
type Repository = NonNullable<ResolvedImagePlan['repository']>;
type GitRepository = Extract<Repository, { url: string }>;
type ContentRepository = Exclude<Repository, { url: string }>;

/** A plan of which some facts are still to be found out: those are null. */
export type PlanDraft = Omit<ResolvedImagePlan, 'base' | 'repository' | 'inputs'> & {
  readonly base: ResolvedImagePlan['base'] | null;
  readonly repository?: DraftRepository;
  readonly inputs: readonly DraftInput[];
};

/** Its commit or digest is null until it is known. */
type DraftRepository =
  | (Omit<GitRepository, 'commit'> & { readonly commit: string | null })
  | (Omit<ContentRepository, 'digest'> & { readonly digest: string | null });

export interface DraftInput {
  readonly id: string;
  readonly purpose: Input['purpose'];
  readonly mountPath?: string;
  /** Undefined until its commit or digest is known. */
  readonly resolved?: Input;
}

/** Every fact that a blueprint does not have. */
export interface PlanFacts {
  readonly platform: Platform;
  readonly place: PlanPlace;
  readonly base?: ResolvedImagePlan['base'] | undefined;
  readonly packages: readonly ResolvedPackage[];
  readonly harness?: HarnessInstall | undefined;
  /** The commit of the workspace's repository, or the digest of what else it is. */
  readonly commit?: string | undefined;
  /** By the input's id: a commit for git, a digest for the others. */
  readonly inputs?: ReadonlyMap<string, string> | undefined;
}

export interface Draft {
  readonly draft: PlanDraft;
  /** The paths of what is null. A plan has none. */
  readonly unresolved: readonly string[];
}

/** Pure: the same blueprint with the same facts is the same plan, byte for byte. */
export function draftPlan(blueprint: WorkspaceBlueprint, facts: PlanFacts): Draft {
  const { place, platform } = facts;
  const harness = plannedHarness(blueprint, facts.harness);
  const inputs = blueprint.sources.inputs.map((input) => draftInput(input, facts.inputs?.get(input.id)));
  const repository = draftRepository(blueprint, facts.commit);
  const release = place.release === undefined ? {} : { release: place.release };
  const draft: PlanDraft = {
    version: resolvedImagePlanVersion,
    platform,
    os: { family: place.distribution ?? 'image', ...release },
    base: facts.base ?? null,
    packages: plannedPackages(facts.packages),
    ...(harness === undefined ? {} : { harness }),
    users:
      place.distribution === undefined
        ? []
        : plannedUsers(osFacts[place.distribution].shells[blueprint.customization.shell]),
    env: plannedEnv(blueprint),
    steps: blueprint.lifecycle.setup.map((step) => ({ ...step, user: 'root' })),
    inputs,
    labels: plannedLabels(facts, harness),
    ...(repository === undefined ? {} : { repository }),
    ...(blueprint.lifecycle.setup.length === 0 ? {} : { workspaceRoot: blueprint.runtime.workspaceRoot }),
  };
  return { draft, unresolved: unresolvedOf(draft) };
}

/** The plan, when nothing of it is open any more. */
export function finishPlan(blueprint: WorkspaceBlueprint, { draft, unresolved }: Draft): ResolvedImagePlan {
  if (unresolved.length > 0)
    throw new CaissonError('build_failed', `the plan is not complete: ${unresolved.join(', ')} is not known yet`);
  const whole = { ...draft, inputs: draft.inputs.map(({ resolved }) => resolved) };
  const plan = parseOrThrow(resolvedImagePlanSchema, whole, 'spec_invalid', 'the plan of this spec');
  const problem = planRepositoryProblem(blueprint, plan);
  if (problem !== undefined) throw new CaissonError('internal', `${problem.path}: ${problem.message}`);
  return plan;
}

function unresolvedOf(draft: PlanDraft): string[] {
  return [
    ...(draft.base === null ? ['base'] : []),
    ...unresolvedRepository(draft.repository),
    ...draft.inputs.flatMap(({ id, resolved }) => (resolved === undefined ? [`inputs.${id}`] : [])),
  ];
}

function unresolvedRepository(repository: DraftRepository | undefined): string[] {
  if (repository === undefined) return [];
  if ('url' in repository) return repository.commit === null ? ['repository.commit'] : [];
  return repository.digest === null ? ['repository.digest'] : [];
}

/** In the order of their names, each once: who asks first changes nothing about the image. */
function plannedPackages(packages: readonly ResolvedPackage[]): ResolvedImagePlan['packages'] {
  const planned = new Map<string, ResolvedImagePlan['packages'][number]>();
  // By id, so that of two ids for one name the same one stands in the plan whatever their order; pinned before unpinned.
  const sorted = [...packages].sort(
    (a, b) => Number(b.version !== undefined) - Number(a.version !== undefined) || order(a.id, b.id),
  );
  for (const { id, nativeNames, version, packageManager } of sorted) {
    for (const nativeName of nativeNames) {
      const kept = planned.get(nativeName);
      if (kept?.version !== undefined && version !== undefined && kept.version !== version)
        throw new CaissonError(
          'unsupported-package',
          `\`${kept.id}\` and \`${id}\` are one package, ${nativeName}, in two versions`,
        );
      if (kept === undefined)
        planned.set(nativeName, { id, nativeName, packageManager, ...(version === undefined ? {} : { version }) });
    }
  }
  return [...planned.values()].sort((a, b) => order(a.nativeName, b.nativeName));
}

/** By code units: the order of words must not depend on the machine's language. */
function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function plannedHarness({ harness }: WorkspaceBlueprint, install: HarnessInstall | undefined) {
  const found = findHarness(harness.id);
  if (found === undefined || install === undefined) return undefined;
  return {
    id: harness.id as NonNullable<ResolvedImagePlan['harness']>['id'],
    version: install.version,
    install: install.steps.map(({ id, run }) => ({
      id,
      run,
      shell: 'sh' as const,
      workingDirectory: '/',
      user: 'root',
    })),
    launch: [...launchCommand(found, harness.profile).argv],
  };
}

/** A variable of the spec is needed while building only by setup steps; otherwise it would cost a new image each time. */
function plannedEnv(blueprint: WorkspaceBlueprint): Record<string, string> {
  const own = findHarness(blueprint.harness.id)?.env ?? {};
  const env = blueprint.lifecycle.setup.length > 0 ? { ...own, ...blueprint.runtime.env } : own;
  return Object.fromEntries(Object.entries(env).sort(([a], [b]) => order(a, b)));
}

function plannedLabels({ place, base }: PlanFacts, harness: ResolvedImagePlan['harness']): Record<string, string> {
  return {
    'dev.caisson.os':
      place.distribution === undefined ? 'image' : [place.distribution, place.release].filter(Boolean).join(' '),
    ...(harness === undefined ? {} : { 'dev.caisson.harness': `${harness.id} ${harness.version}` }),
    ...(base === undefined ? {} : { 'org.opencontainers.image.base.digest': base.digest }),
  };
}

function plannedUsers(shell: string): ResolvedImagePlan['users'] {
  return [
    { name: 'root', uid: 0, gid: 0, home: '/root', shell },
    { ...sandboxUser, shell },
  ];
}

function draftRepository(blueprint: WorkspaceBlueprint, commit: string | undefined): PlanDraft['repository'] {
  const { workspace } = blueprint.sources;
  if (workspace.kind === 'none' || repositoryPlacement(blueprint) !== 'image') return undefined;
  const path = repositoryDirectory(blueprint.runtime.workspaceRoot);
  if (workspace.kind !== 'git') return { kind: workspace.kind, digest: commit ?? null, path };
  const named = isCommit(workspace.ref) ? workspace.ref : null;
  return { url: workspace.url, commit: commit ?? named, path, ...submodulesOf(workspace) };
}

function draftInput(source: WorkspaceBlueprint['sources']['inputs'][number], fact: string | undefined): DraftInput {
  const { id, purpose, mountPath } = source;
  const fields = { id, purpose, ...(mountPath === undefined ? {} : { mountPath }) };
  if (source.kind !== 'git') {
    return fact === undefined ? fields : { ...fields, resolved: { ...fields, kind: source.kind, digest: fact } };
  }
  const commit = fact ?? (isCommit(source.ref) ? source.ref : undefined);
  if (commit === undefined) return fields;
  return { ...fields, resolved: { ...fields, kind: 'git', url: source.url, commit, ...submodulesOf(source) } };
}

function submodulesOf({ submodules }: { readonly submodules?: true }): { submodules?: true } {
  return submodules === undefined ? {} : { submodules };
}

function isCommit(ref: string | undefined): ref is string {
  return ref !== undefined && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(ref);
}
