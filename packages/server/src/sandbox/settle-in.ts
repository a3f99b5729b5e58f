import { createHash } from 'node:crypto';
import { CaissonError, type Id, type WorkspaceBlueprint } from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';
import { sandboxUser } from '../images/plan/sandbox-user.ts';
import { listenInside } from '../network/open-doors.ts';

/** What makes a machine itself towards others. Whoever begins from the files of another one must not have it too. */
const identityFolder = '/etc/ssh';
const identityPattern = 'ssh_host_*';
const identityFiles = ['/var/lib/systemd/random-seed', '/var/lib/dbus/machine-id'];

export interface Arrival {
  readonly sandbox: Id<'sandbox'>;
  readonly blueprint: WorkspaceBlueprint;
  readonly beginsFrom: 'image' | 'snapshot' | 'kept';
  /** Programs inside are offered the way out. */
  readonly isConnected: boolean;
}

/**
 * What a sandbox needs inside before anybody uses it. It may be done again. One that begins from files of its own, or of
 * another sandbox, has its workspace with whatever owner it was given, unless it failed before it ever had one.
 */
export async function settleIn(guest: GuestClient, arrival: Arrival, signal: AbortSignal): Promise<void> {
  const { blueprint, beginsFrom } = arrival;
  const path = blueprint.runtime.workspaceRoot;
  const made = guest.files.mkdir(path, { user: 'root', parents: true, signal }).then(async (created) => {
    if (created || beginsFrom === 'image') await guest.files.chown(path, sandboxUser, { user: 'root', signal });
  });
  const known = beginsFrom === 'kept' ? undefined : identify(guest, arrival, signal);
  // In memory, and so new at each start.
  const home =
    blueprint.runtime.readOnlyRoot === true
      ? guest.files.chown(sandboxUser.home, sandboxUser, { user: 'root', signal }).catch(unlessOdd)
      : undefined;
  const offered = arrival.isConnected ? listenInside(guest, signal) : undefined;
  await Promise.all([made, known, home, offered]);
}

/** Its machine id is its own and the same after each start; nothing else of anybody's identity is in it. */
async function identify(guest: GuestClient, { sandbox, beginsFrom }: Arrival, signal: AbortSignal): Promise<void> {
  const id = createHash('sha256').update(sandbox).digest('hex').slice(0, 32);
  const options = { user: 'root', signal } as const;
  // An image without /etc has nobody who would look there.
  await guest.files.write('/etc/machine-id', `${id}\n`, { ...options, mode: 0o444 }).catch(unlessOdd);
  if (beginsFrom !== 'snapshot') return;
  const keys = await guest.files.glob(identityFolder, identityPattern, options).catch(unlessOdd);
  const found = (keys?.entries ?? []).map(({ path }) => `${identityFolder}/${path}`);
  for (const file of [...found, ...identityFiles]) {
    await guest.files.remove(file, { ...options, recursive: true, missingOk: true }).catch(unlessOdd);
  }
}

/** A tree may be shaped against us; whoever shaped it has nothing from it but their own files. */
function unlessOdd(error: unknown): undefined {
  if (!(error instanceof CaissonError) || !error.code.startsWith('file_')) throw error;
}
