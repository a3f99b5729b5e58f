import {
  type Attempt,
  CaissonError,
  type Id,
  type NetworkRules,
  type Sandbox,
  type WorkspaceBlueprint,
} from '@caisson/contract';
import type { Driver } from '../drivers/driver.ts';
import { secretsIn } from '../network/secrets/inside-secrets.ts';
import type { AttemptImage } from '../store/attempts.ts';
import type { WorkContext } from './work-context.ts';

/** The files that a sandbox has are those to begin from. */
export interface Kept {
  /** They were another sandbox's. */
  readonly isForeign: boolean;
  /** What they began from, where that is not what the sandbox itself did. */
  readonly image: AttemptImage | undefined;
}

/** What a launch begins with. */
export interface LaunchPlan {
  readonly attempt: Attempt;
  readonly blueprint: WorkspaceBlueprint;
  /** What it may reach, which may have changed since it was written; undefined where nobody knows. */
  readonly rules: NetworkRules | undefined;
  /** That of its rules. */
  readonly networkMode: NetworkRules['mode'];
  /** The secrets that they name. */
  readonly secretNames: readonly string[];
  /** Programs inside are offered the way out. */
  readonly isConnected: boolean;
  /** It begins from the filesystem that was kept for it. */
  readonly fromKept: boolean;
  /** It begins from these files, in place of an image. */
  readonly from: { readonly snapshot: Id<'snapshot'>; readonly image: AttemptImage } | undefined;
  readonly kept: Kept | undefined;
  readonly notices: readonly string[];
}

/** What the record of a sandbox and its attempt come to. */
export async function planOf(
  { store, subjects }: WorkContext,
  driver: Driver,
  sandbox: Sandbox,
  kept: Kept | undefined,
): Promise<LaunchPlan> {
  const attempt = sandbox.attempt === null ? undefined : await store.attempts.get(sandbox.attempt);
  if (!attempt) throw new CaissonError('attempt_not_found', `${sandbox.id} has no attempt to launch`);
  // It was normalized when the attempt was recorded.
  const blueprint = attempt.blueprint as WorkspaceBlueprint;
  const fromKept = kept !== undefined || (attempt.action === 'start' && sandbox.persistence === 'persistent');
  const { fromSnapshot: snapshot } = attempt;
  const rules = (await subjects.find(sandbox.id))?.rules;
  const networkMode = rules?.mode ?? 'off';
  const secretNames = rules?.secrets ?? secretsIn(blueprint);
  const isConnected = networkMode !== 'off' && driver.capabilities.networkModes.includes(networkMode);
  const common = { attempt, blueprint, rules, networkMode, secretNames, isConnected, fromKept, kept };
  if (snapshot === null || fromKept) return { ...common, from: undefined, notices: [] };
  const isFirst = attempt.action === 'restore' || attempt.action === 'fork';
  const inputs = await store.snapshots.inputs(snapshot);
  // What is removed after the first try began stays for it; a later one need not have it.
  if (inputs && (isFirst || (await store.snapshots.get(snapshot))?.state === 'ready'))
    return { ...common, from: { snapshot, image: inputs.image }, notices: [] };
  if (isFirst) throw new CaissonError('snapshot_not_found', `the snapshot ${snapshot} is not there any more`);
  const notice = `The snapshot ${snapshot} that it came from is gone: it begins from its image.`;
  return { ...common, from: undefined, notices: [notice] };
}
