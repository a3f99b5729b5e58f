import type { WorkspaceBlueprint } from './blueprint.ts';
import type { ResolvedImagePlan } from './buildkit.ts';
import type { SpecProblem } from './spec-error.ts';

/**
 * Where the repository meets the sandbox: in the `image`, at `launch`, or not at all (`none`).
 *
 * Setup steps work on the repository, so with them it is part of the image and its commit part of the plan. Without
 * them it is fetched at launch: otherwise every new commit would need a new image with nothing else new in it.
 */
export type RepositoryPlacement = 'none' | 'image' | 'launch';

export function repositoryPlacement(blueprint: WorkspaceBlueprint): RepositoryPlacement {
  if (blueprint.sources.workspace.kind === 'none') return 'none';
  return blueprint.lifecycle.setup.length > 0 ? 'image' : 'launch';
}

/** What is wrong with a plan's `repository`, given the blueprint it was made from. Undefined when nothing is. */
export function planRepositoryProblem(blueprint: WorkspaceBlueprint, plan: ResolvedImagePlan): SpecProblem | undefined {
  const { workspace } = blueprint.sources;
  if (repositoryPlacement(blueprint) !== 'image') {
    if (plan.repository === undefined) return undefined;
    return { path: 'repository', code: 'conflict', message: 'The repository is not part of this image.' };
  }
  if (plan.repository === undefined) {
    return {
      path: 'repository',
      code: 'required',
      message: 'Setup steps need the repository and its commit in the plan.',
    };
  }
  const { repository } = plan;
  if ('url' in repository) {
    if (workspace.kind === 'git' && repository.url === workspace.url) return undefined;
    return { path: 'repository.url', code: 'conflict', message: 'The plan has another repository than its blueprint.' };
  }
  if (repository.kind === workspace.kind) return undefined;
  return { path: 'repository.kind', code: 'conflict', message: 'The plan has another source than its blueprint.' };
}
