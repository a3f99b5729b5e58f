import { createHash } from 'node:crypto';
import type { WorkspaceBlueprint } from './blueprint.ts';
import type { ResolvedImagePlan } from './buildkit.ts';
import { canonicalJson } from './canonical-json.ts';
import type { BlueprintDigest, PlanDigest } from './digest-forms.ts';

export {
  type BlueprintDigest,
  blueprintDigestSchema,
  type ImageDigest,
  imageDigestSchema,
  type PlanDigest,
  planDigestSchema,
} from './digest-forms.ts';

/**
 * Laws: a digest depends on the meaning alone, never on key order, platform or `context`; equal content of two
 * different kinds still has different digests, because the kind is hashed in front of the content.
 */

/** The intent, without the context in which it was asked for. */
export function blueprintDigest(blueprint: WorkspaceBlueprint): BlueprintDigest {
  const { context: _, ...intent } = blueprint;
  return `blueprint-sha256:${hash('caisson blueprint', intent)}` as BlueprintDigest;
}

/** The key of a build: the same plan never has to be built twice. */
export function planDigest(plan: ResolvedImagePlan): PlanDigest {
  return `plan-sha256:${hash('caisson plan', plan)}` as PlanDigest;
}

/** The line break ends the kind: canonical JSON never contains one, so no kind and content can be read two ways. */
function hash(kind: string, content: unknown): string {
  return createHash('sha256')
    .update(`${kind}\n${canonicalJson(content)}`, 'utf8')
    .digest('hex');
}
