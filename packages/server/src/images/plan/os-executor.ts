import { CaissonError } from '@caisson/contract';
import type {
  BuildArtifact,
  BuildArtifacts,
  OsExecutor,
  Platform,
  ResolvedImagePlan,
  WorkspaceBlueprint,
} from '@caisson/workspace-composition';
import { blueprintDigest, planDigest } from '@caisson/workspace-composition/digest';
import { type Distribution, distributions } from '../packages/distributions.ts';
import { billMediaType, billOfMaterials, type InstalledVersions } from './bill-of-materials.ts';
import { planPlace } from './plan-place.ts';
import { supportsBlueprint } from './supports.ts';

/** What a builder made of a plan. */
export interface Built {
  readonly artifact: BuildArtifact & { readonly kind: 'oci-image' | 'filesystem-closure' };
  readonly installed: InstalledVersions;
}

export interface ExecutorParts {
  /** The complete plan of a blueprint. */
  readonly plan: (blueprint: WorkspaceBlueprint, platform: Platform, signal: AbortSignal) => Promise<ResolvedImagePlan>;
  /** Absent: nothing is built, and the artifacts only describe. */
  readonly build?: (plan: ResolvedImagePlan, signal: AbortSignal) => Promise<Built>;
}

/** One executor for each distribution, and one for images, of which nothing is known. */
export function osExecutors(parts: ExecutorParts): readonly OsExecutor[] {
  return [...distributions, 'image' as const].map((family) => osExecutor(family, parts));
}

function osExecutor(family: Distribution | 'image', parts: ExecutorParts): OsExecutor {
  return {
    id: `os-${family}`,
    supports: ({ blueprint }) => {
      const place = planPlace(blueprint);
      const mine = 'reason' in place || (place.distribution ?? 'image') === family;
      if (mine) return supportsBlueprint(blueprint);
      const message = `this executor builds ${family}, and the blueprint is for ${place.distribution ?? 'an image'}`;
      return { ok: false, failures: [{ reason: 'unsupported-os', path: 'target.os.family', message }] };
    },
    compile: async ({ blueprint, platform, signal = new AbortController().signal }) => {
      const plan = await parts.plan(blueprint, platform, signal);
      if (plan.os.family !== family) throw new CaissonError('unsupported-os', `the plan is for ${plan.os.family}`);
      const built = await parts.build?.(plan, signal);
      const described = [manifest(plan, built), metadata(`os-${family}`, blueprint, plan, built)] as const;
      return built === undefined ? [...described] : [built.artifact, ...described];
    },
  };
}

function manifest(plan: ResolvedImagePlan, built: Built | undefined): BuildArtifacts[0] {
  return { kind: 'manifest', mediaType: billMediaType, content: billOfMaterials(plan, built?.installed) };
}

function metadata(
  executor: string,
  blueprint: WorkspaceBlueprint,
  plan: ResolvedImagePlan,
  built: Built | undefined,
): BuildArtifacts[0] {
  const { harness } = plan;
  return {
    kind: 'metadata',
    executor,
    blueprintDigest: blueprintDigest(blueprint),
    planDigest: planDigest(plan),
    ...(harness === undefined ? {} : { harness: { id: harness.id, version: harness.version } }),
    packages: plan.packages.map(({ id, nativeName, version }) => ({
      id,
      nativeName,
      version: built?.installed.get(nativeName) ?? version ?? 'unpinned',
    })),
  };
}
