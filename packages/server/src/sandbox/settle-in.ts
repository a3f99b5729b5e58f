import type { WorkspaceBlueprint } from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';

/** The ids of `user`, which the guest has in every sandbox. */
const user = { uid: 1000, gid: 1000 };

/** What a sandbox that begins from its image needs inside before anybody uses it. It may be done again. */
export async function settleIn(guest: GuestClient, blueprint: WorkspaceBlueprint, signal: AbortSignal): Promise<void> {
  const path = blueprint.runtime.workspaceRoot;
  await guest.files.mkdir(path, { user: 'root', parents: true, signal });
  await guest.files.chown(path, user, { user: 'root', signal });
}
