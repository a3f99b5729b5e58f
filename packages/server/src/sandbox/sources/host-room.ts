import { systemOwner } from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';
import type { Driver, InstanceKey } from '../../drivers/driver.ts';
import type { BaseImage } from '../../images/images.ts';
import { normalize } from '../compose.ts';
import { withDeadline } from '../deadline.ts';
import type { Filesystems } from '../filesystems.ts';
import { roomLabels } from '../healing/instance-labels.ts';
import { withHostDefaults } from '../host-defaults.ts';
import type { WorkContext } from '../work-context.ts';
import type { GitImages } from './git-images.ts';
import { enterRoom, type RoomKind, type RoomRequest } from './rooms.ts';
import { hasGit } from './run-inside.ts';

/** The machine's own programs, git among them, and no way out: what is unpacked in there is brought to it. */
const blueprint = normalize({ source: { kind: 'none' }, os: 'host', runtime: { network: { mode: 'off' } } }, true);

export interface HostRoomParts {
  readonly work: Pick<WorkContext, 'deadlines' | 'installation'>;
  readonly driver: Driver;
  readonly filesystems: Filesystems;
  readonly gitImages: GitImages | undefined;
}

/**
 * A room of this machine, where a driver's filesystem is ours. Nothing has to be made for it, whatever is asked for, unless
 * the machine itself has no git.
 */
export function hostRoom({ work, driver, filesystems, gitImages }: HostRoomParts): RoomKind {
  const { deadlines, installation } = work;
  return { driver, blueprint, open, close };

  async function open(key: InstanceKey, request: RoomRequest): Promise<GuestClient> {
    const { signal } = request;
    const guest = await launch(key, undefined, signal);
    if (!gitImages || (await hasGit(guest, 'user', signal))) return guest;
    await driver.destroy(key, signal);
    await filesystems.remove(key.sandbox, signal);
    return gitImages.use(request, (base) => launch(key, base, signal));
  }

  async function launch(key: InstanceKey, base: BaseImage | undefined, signal: AbortSignal): Promise<GuestClient> {
    const resources = withHostDefaults({});
    const { rootfs } = await withDeadline('preparing a room', deadlines.prepareMs, signal, (inner) =>
      filesystems.prepare(key.sandbox, blueprint, {
        ownIds: driver.ownIds?.(blueprint) ?? driver.capabilities.userNamespace,
        diskMiB: resources.diskMiB,
        snapshot: undefined,
        image: undefined,
        base,
        progress: () => {},
        signal: inner,
      }),
    );
    const labels = roomLabels(installation);
    const env = { PATH: '/usr/local/bin:/usr/bin:/bin' };
    return withDeadline('opening a room', deadlines.launchMs, signal, (inner) =>
      enterRoom(driver, { key, owner: systemOwner, labels, blueprint, rootfs, resources, env }, inner),
    );
  }

  async function close(key: InstanceKey, signal: AbortSignal): Promise<void> {
    await driver.destroy(key, signal).catch(() => {});
    await filesystems.remove(key.sandbox, signal).catch(() => {});
  }
}
