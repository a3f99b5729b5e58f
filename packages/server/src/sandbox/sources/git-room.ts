import { CaissonError, type Id, newId } from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';
import type { Driver, InstanceKey } from '../../drivers/driver.ts';
import { type BackendImages, imaging } from '../backend-images.ts';
import type { Filesystems } from '../filesystems.ts';
import type { WorkContext } from '../work-context.ts';
import { engineRoom } from './engine-room.ts';
import type { GitImages } from './git-images.ts';
import { hostRoom } from './host-room.ts';
import type { RoomKind, RoomRequest, Rooms } from './rooms.ts';

export interface GitRoomParts {
  readonly work: Pick<WorkContext, 'deadlines' | 'installation'>;
  readonly drivers: readonly Driver[];
  readonly filesystems: Filesystems | undefined;
  readonly backendImages: BackendImages | undefined;
  readonly gitImages: GitImages | undefined;
  /** Keeps whoever removes what no record wants away from it. */
  hold<T>(id: Id<'sandbox'>, work: () => Promise<T>): Promise<T | undefined>;
}

/**
 * Sandboxes of the system for one piece of work with git. No record knows of them: one that a killed server left is
 * removed as anything that no record wants. Undefined where no driver has what they need.
 */
export function gitRooms(parts: GitRoomParts): Rooms | undefined {
  const kinds = kindsOf(parts);
  const { work, hold } = parts;
  const [first] = kinds;
  if (!first) return undefined;
  return async <T>(request: RoomRequest, task: (guest: GuestClient) => Promise<T>): Promise<T> => {
    // By what is known of the backends: where none seems to do, the first one says why.
    const kind = kinds.find(({ driver, blueprint }) => driver.supports(blueprint).length === 0) ?? first;
    const key: InstanceKey = { sandbox: newId('sandbox'), incarnation: 1 };
    let answer: { readonly value: T } | undefined;
    await hold(key.sandbox, async () => {
      try {
        answer = { value: await task(await kind.open(key, request)) };
      } finally {
        // What cannot be removed now is found by the reconciler.
        await kind.close(key, AbortSignal.timeout(work.deadlines.endMs));
      }
    });
    if (!answer) throw new CaissonError('internal', 'a room was taken before it was made');
    return answer.value;
  };
}

/** A room of this machine needs nothing made, so it comes first. */
function kindsOf({ work, drivers, filesystems, backendImages, gitImages }: GitRoomParts): readonly RoomKind[] {
  const withGuest = drivers.filter(({ capabilities }) => capabilities.guest);
  const ours = withGuest.find(({ capabilities }) => capabilities.storage === 'ours');
  const own = ours && filesystems ? [hostRoom({ work, driver: ours, filesystems, gitImages })] : [];
  const engines = withGuest.flatMap((driver) => {
    const taker = imaging(driver);
    if (!taker || !backendImages || !gitImages) return [];
    return [engineRoom({ work, driver: taker, backendImages, gitImages })];
  });
  return [...own, ...engines];
}
