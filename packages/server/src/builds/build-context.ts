import type { Owner, WorkspaceBlueprint } from '@caisson/contract';
import type { ResolvedImagePlan } from '@caisson/workspace-composition';

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

export type MakeContext = (request: ContextRequest) => Promise<BuildContext>;

/** Whether some step of the plan brings in files from elsewhere. */
export function needsContext({ inputs, repository }: ResolvedImagePlan): boolean {
  return inputs.length > 0 || repository !== undefined;
}
