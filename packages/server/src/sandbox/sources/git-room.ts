import { CaissonError, type Id, newId, systemOwner } from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';
import type { Driver, InstanceKey } from '../../drivers/driver.ts';
import { normalize } from '../compose.ts';
import { withDeadline } from '../deadline.ts';
import type { Filesystems } from '../filesystems.ts';
import { roomLabels } from '../healing/instance-labels.ts';
import { withHostDefaults } from '../host-defaults.ts';
import type { WorkContext } from '../work-context.ts';
import type { Rooms } from './placer.ts';

/** The machine's own programs, git among them, and no way out: what is unpacked in there is brought to it. */
const blueprint = normalize({ source: { kind: 'none' }, os: 'host', runtime: { network: { mode: 'off' } } }, true);

export interface GitRoomParts {
  readonly work: Pick<WorkContext, 'deadlines' | 'installation'>;
  readonly drivers: readonly Driver[];
  readonly filesystems: Filesystems | undefined;
  /** Keeps whoever removes what no record wants away from it. */
  hold<T>(id: Id<'sandbox'>, work: () => Promise<T>): Promise<T | undefined>;
}

/**
 * Sandboxes of the system for one piece of work with git. No record knows of them: one that a killed server left is
 * removed as anything that no record wants. Undefined where no driver has what they need.
 */
export function gitRooms({ work, drivers, filesystems, hold }: GitRoomParts): Rooms | undefined {
  const driver = drivers.find(({ capabilities }) => capabilities.storage === 'ours' && capabilities.guest);
  if (!driver || !filesystems) return undefined;
  return async <T>(signal: AbortSignal, task: (guest: GuestClient) => Promise<T>): Promise<T> => {
    const key: InstanceKey = { sandbox: newId('sandbox'), incarnation: 1 };
    let answer: { readonly value: T } | undefined;
    await hold(key.sandbox, async () => {
      try {
        answer = { value: await task(await open(key, signal)) };
      } finally {
        await close(key);
      }
    });
    if (!answer) throw new CaissonError('internal', 'a room was taken before it was made');
    return answer.value;
  };

  async function open(key: InstanceKey, signal: AbortSignal): Promise<GuestClient> {
    const one = driver as Driver;
    const resources = withHostDefaults({});
    const { rootfs } = await withDeadline('preparing a room', work.deadlines.prepareMs, signal, (inner) =>
      (filesystems as Filesystems).prepare(key.sandbox, blueprint, {
        ownIds: one.ownIds?.(blueprint) ?? one.capabilities.userNamespace,
        diskMiB: resources.diskMiB,
        snapshot: undefined,
        image: undefined,
        base: undefined,
        progress: () => {},
        signal: inner,
      }),
    );
    return withDeadline('opening a room', work.deadlines.launchMs, signal, async (inner) => {
      const labels = roomLabels(work.installation);
      const env = { PATH: '/usr/local/bin:/usr/bin:/bin' };
      await one.create({ key, owner: systemOwner, labels, blueprint, rootfs, resources, env }, inner);
      const guest = await one.guest?.(key, inner);
      if (!guest) throw new CaissonError('guest_unreachable');
      await guest.files.chmod('/workspace', 0o777, { user: 'root', signal: inner });
      return guest;
    });
  }

  /** What cannot be removed now is found by the reconciler. */
  async function close(key: InstanceKey): Promise<void> {
    const signal = AbortSignal.timeout(work.deadlines.endMs);
    await (driver as Driver).destroy(key, signal).catch(() => {});
    await filesystems?.remove(key.sandbox, signal).catch(() => {});
  }
}
