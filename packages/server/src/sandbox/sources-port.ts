import type { Id, Owner, WorkspaceBlueprint } from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';
import type { BuildContext, ContextRequest } from '../builds/build-context.ts';

export type { BuildContext, ContextRequest } from '../builds/build-context.ts';

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

/** As it is kept with the attempt: plain JSON. */
export interface SourceFacts {
  /** The commit of the workspace's repository, or the digest of what else it is. */
  readonly commit?: string | undefined;
  /** The branch that the commit is of, where the ref is one or is absent: the workspace is on it. */
  readonly branch?: string | undefined;
  /** By the input's id: a commit for git, a digest for the others. */
  readonly inputs?: Readonly<Record<string, string>> | undefined;
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
