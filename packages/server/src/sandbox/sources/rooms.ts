import { CaissonError, type NetworkRules, type Owner, type WorkspaceBlueprint } from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';
import type { CreateRequest, Driver, InstanceKey } from '../../drivers/driver.ts';

/** Who needs git, for what. */
export interface RoomRequest {
  /** What the sandbox begins from: the room is of the same, where it has to be made. */
  readonly os: WorkspaceBlueprint['target']['os'];
  /** It was found out that what the sandbox begins from has no git. */
  readonly lacksGit?: boolean | undefined;
  readonly owner: Owner;
  /** What the sandbox may reach. What has to be fetched for a room is fetched by these. */
  readonly rules: NetworkRules;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal;
}

/** A sandbox with git in it and no way out, for one piece of work. */
export type Rooms = <T>(request: RoomRequest, work: (guest: GuestClient) => Promise<T>) => Promise<T>;

/** One way to such a sandbox. */
export interface RoomKind {
  readonly driver: Driver;
  /** What the driver is asked for. */
  readonly blueprint: WorkspaceBlueprint;
  open(key: InstanceKey, request: RoomRequest): Promise<GuestClient>;
  close(key: InstanceKey, signal: AbortSignal): Promise<void>;
}

/** Of no image: what somebody put into theirs is not in the way. */
const roomRoot = '/caisson-room';
/** Where git unpacks, one source after the other. */
export const roomFolder = `${roomRoot}/source`;

/** Begins a room, with a place in it for `user` to make that folder in. */
export async function enterRoom(driver: Driver, request: CreateRequest, signal: AbortSignal): Promise<GuestClient> {
  await driver.create(request, signal);
  const guest = await driver.guest?.(request.key, signal);
  if (!guest) throw new CaissonError('guest_unreachable');
  const asRoot = { user: 'root', signal } as const;
  await guest.files.mkdir(roomRoot, { ...asRoot, parents: true });
  await guest.files.chmod(roomRoot, 0o777, asRoot);
  return guest;
}
