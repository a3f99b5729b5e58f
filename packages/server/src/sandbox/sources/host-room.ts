import { CaissonError, systemOwner } from '@caisson/contract';
import type { Driver } from '../../drivers/driver.ts';
import { normalize } from '../compose.ts';
import { withDeadline } from '../deadline.ts';
import type { Filesystems } from '../filesystems.ts';
import { roomLabels } from '../healing/instance-labels.ts';
import { withHostDefaults } from '../host-defaults.ts';
import type { WorkContext } from '../work-context.ts';
import { makeRoomRoot, type RoomKind } from './rooms.ts';

/** The machine's own programs, git among them, and no way out: what is unpacked in there is brought to it. */
const blueprint = normalize({ source: { kind: 'none' }, os: 'host', runtime: { network: { mode: 'off' } } }, true);

/** A room of this machine, where a driver's filesystem is ours. Nothing has to be made for it, whatever is asked for. */
export function hostRoom(
  { deadlines, installation }: Pick<WorkContext, 'deadlines' | 'installation'>,
  driver: Driver,
  filesystems: Filesystems,
): RoomKind {
  return {
    driver,
    blueprint,
    async open(key, { signal }) {
      const resources = withHostDefaults({});
      const { rootfs } = await withDeadline('preparing a room', deadlines.prepareMs, signal, (inner) =>
        filesystems.prepare(key.sandbox, blueprint, {
          ownIds: driver.ownIds?.(blueprint) ?? driver.capabilities.userNamespace,
          diskMiB: resources.diskMiB,
          snapshot: undefined,
          image: undefined,
          base: undefined,
          progress: () => {},
          signal: inner,
        }),
      );
      return withDeadline('opening a room', deadlines.launchMs, signal, async (inner) => {
        const labels = roomLabels(installation);
        const env = { PATH: '/usr/local/bin:/usr/bin:/bin' };
        await driver.create({ key, owner: systemOwner, labels, blueprint, rootfs, resources, env }, inner);
        const guest = await driver.guest?.(key, inner);
        if (!guest) throw new CaissonError('guest_unreachable');
        await makeRoomRoot(guest, inner);
        return guest;
      });
    },
    async close(key, signal) {
      await driver.destroy(key, signal).catch(() => {});
      await filesystems.remove(key.sandbox, signal).catch(() => {});
    },
  };
}
