import type { NetworkRules, Owner } from '@caisson/contract';
import type { ResolvedImagePlan } from '@caisson/workspace-composition';
import type { BaseImage } from '../images.ts';

/**
 * A builder makes the image of a plan: it does the plan's `buildSteps` in order and keeps what each leaves as a layer.
 *
 * Laws
 * 1. The same plan on the same builder is found and not built again; a step whose parent and text are known is not run.
 * 2. Steps reach the outside through `rules` alone, and see no secret.
 * 3. A failure is one CaissonError: `build_failed` names the step, its command, its exit code and its last lines in the
 *    context. It, an abort and a `kill -9` leave nothing behind but whole layers that the next build may use.
 */
export interface Builder {
  readonly name: 'native' | 'buildkit';
  /** Why it cannot be used here, and what would change that; undefined where it can. */
  probe(signal: AbortSignal): Promise<BuilderTrouble | undefined>;
  build(request: BuildRequest): Promise<BuiltImage>;
}

export interface BuilderTrouble {
  readonly why: string;
  readonly fix: string;
}

export interface BuildRequest {
  readonly plan: ResolvedImagePlan;
  readonly owner: Owner;
  /** A folder of the host with what `copy` steps bring in, by their `from`; undefined where no step does. */
  readonly context?: string | undefined;
  readonly rules: NetworkRules;
  readonly signal: AbortSignal;
  readonly tell: (event: BuildEvent) => void;
}

/** What happens in a build, as it happens. Output comes in pieces of bounded size, whole lines where it can. */
export type BuildEvent =
  | { readonly kind: 'step-began'; readonly step: string; readonly title: string }
  | { readonly kind: 'output'; readonly step: string; readonly text: string }
  | {
      readonly kind: 'step-ended';
      readonly step: string;
      readonly outcome: 'done' | 'cached' | 'failed';
      readonly ms: number;
    };

export interface BuiltImage extends BaseImage {
  /** What is inside: packages with their versions, as an SPDX document; null where nobody could tell. */
  readonly billOfMaterials: string | null;
}
