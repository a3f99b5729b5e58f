import type { WorkspaceBlueprint } from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';

/** The ids of `user`, which the guest has in every sandbox. */
const user = { uid: 1000, gid: 1000 };

/**
 * What a sandbox needs inside before anybody uses it. It may be done again. One that begins from a kept filesystem has its
 * workspace with whatever owner it was given, unless it failed before it ever had one.
 */
export async function settleIn(
  guest: GuestClient,
  { blueprint, fromKept }: { readonly blueprint: WorkspaceBlueprint; readonly fromKept: boolean },
  signal: AbortSignal,
): Promise<void> {
  const path = blueprint.runtime.workspaceRoot;
  const created = await guest.files.mkdir(path, { user: 'root', parents: true, signal });
  if (created || !fromKept) await guest.files.chown(path, user, { user: 'root', signal });
}
