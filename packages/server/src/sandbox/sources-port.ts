import type { Id, Owner, WorkspaceBlueprint } from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';
import type { ResolvedImagePlan } from '@caisson/workspace-composition';
import type { SourceFacts } from '../store/attempts.ts';

/**
 * What create, builds and launch ask of sources: repositories, folders, archives, dotfiles.
 *
 *   resolve   at create, before anything is written: what each ref stands for now
 *   context   before a build: the files that its `copy` steps bring in
 *   place     at launch, once the guest answers and before any startup step: what is not in the image
 *
 * Laws
 * 1. `resolve` fetches nothing but names. What it answers is kept with the attempt; whoever does the attempt again gives
 *    the same facts to `context` and `place`, which ask for exactly these commits and digests.
 * 2. A failure is one CaissonError that names the source. It leaves nothing behind, and so does an abort.
 * 3. No credential is in the context, in an answer, or in a line of progress.
 * 4. `place` may be done again from its start.
 */
export interface SourcesPort {
  resolve(blueprint: WorkspaceBlueprint, owner: Owner, signal: AbortSignal): Promise<SourceFacts>;
  context(request: ContextRequest): Promise<BuildContext>;
  place(request: PlaceRequest): Promise<PlacedSources>;
}

export type { SourceFacts };

export interface ContextRequest {
  readonly plan: ResolvedImagePlan;
  readonly blueprint: WorkspaceBlueprint;
  readonly owner: Owner;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal;
}

/** A folder of the host with `repository` and `inputs/<id>`, as the plan's `copy` steps name them. */
export interface BuildContext {
  readonly folder: string;
  dispose(): Promise<void>;
}

export interface PlaceRequest {
  readonly guest: GuestClient;
  readonly sandbox: Id<'sandbox'>;
  readonly owner: Owner;
  readonly blueprint: WorkspaceBlueprint;
  readonly facts: SourceFacts;
  /** The image has the inputs, and with setup steps the repository. */
  readonly isBuilt: boolean;
  /** Whether programs inside have the way out. */
  readonly isConnected: boolean;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal;
}

export interface PlacedSources {
  readonly notices: readonly string[];
}

/** Whether a blueprint asks for files from elsewhere. */
export function hasSources({ sources }: WorkspaceBlueprint): boolean {
  return sources.workspace.kind !== 'none' || sources.inputs.length > 0;
}

/** The blueprint as if it asked for none: what is built where nobody can bring them. */
export function withoutSources(blueprint: WorkspaceBlueprint): WorkspaceBlueprint {
  return { ...blueprint, sources: { workspace: { kind: 'none' }, inputs: [] } };
}
