/**
 * Spec → blueprint → plan: the contracts, and the way from the first to the second. Pure, and safe in a browser; the
 * digests, which need `node:crypto`, are the separate entry `@caisson/workspace-composition/digest`.
 */
export {
  type Foreground,
  foregroundSchema,
  type InputSource,
  inputSourceSchema,
  type PackageRequest,
  packageRequestSchema,
  parseWorkspaceBlueprint,
  type Step,
  stepSchema,
  type WorkspaceBlueprint,
  type WorkspaceSource,
  workspaceBlueprintSchema,
  workspaceBlueprintVersion,
  workspaceSourceSchema,
} from './blueprint.ts';
export {
  type BuildkitBuildSpec,
  buildkitBuildSpecSchema,
  type Platform,
  platformSchema,
  type ResolvedImagePlan,
  resolvedImagePlanSchema,
  resolvedImagePlanVersion,
} from './buildkit.ts';
export { canonicalJson } from './canonical-json.ts';
export {
  type BlueprintDigest,
  blueprintDigestSchema,
  type ImageDigest,
  imageDigestSchema,
  type PlanDigest,
  planDigestSchema,
} from './digest-forms.ts';
export * from './executor.ts';
export { planRepositoryProblem, type RepositoryPlacement, repositoryPlacement } from './repository-placement.ts';
export { specBounds } from './spec/bounds.ts';
export { nearest } from './spec/did-you-mean.ts';
export { canonicalEntry as canonicalEgressEntry } from './spec/egress-entry.ts';
export { faultOfGitUrl, inferProvider } from './spec/git-url.ts';
export { maxProblems } from './spec/problems.ts';
export { SpecError, type SpecProblem, type SpecProblemCode, specProblemCodes } from './spec-error.ts';
export {
  type NormalizeOptions,
  normalizeUserWorkspaceSpec,
  parseUserWorkspaceSpec,
  type UserWorkspaceSpec,
  userWorkspaceSpecSchema,
} from './user-workspace-spec.ts';
export * from './vocabulary.ts';
