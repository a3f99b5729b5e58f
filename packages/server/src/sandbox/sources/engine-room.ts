import { CaissonError, systemOwner } from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';
import type { BackendImage, Driver, Imaging, InstanceKey } from '../../drivers/driver.ts';
import { usualPath } from '../../images/usual-path.ts';
import type { BackendImages } from '../backend-images.ts';
import { normalize } from '../compose.ts';
import { withDeadline } from '../deadline.ts';
import { roomLabels } from '../healing/instance-labels.ts';
import { withHostDefaults } from '../host-defaults.ts';
import type { WorkContext } from '../work-context.ts';
import type { GitImages } from './git-images.ts';
import { enterRoom, type RoomKind, type RoomRequest } from './rooms.ts';
import { hasGit, noGit } from './run-inside.ts';

/** What is unpacked in there is brought to it: it has no way out, whatever the sandbox has. */
const blueprint = normalize({ source: { kind: 'none' }, runtime: { network: { mode: 'off' } } }, true);

export interface EngineRoomParts {
  readonly work: Pick<WorkContext, 'deadlines' | 'installation'>;
  readonly driver: Driver & Imaging;
  readonly backendImages: BackendImages;
  readonly gitImages: GitImages;
}

/**
 * A room on a backend that has the filesystems itself: a container of an engine, wherever that is. An image that a spec
 * names is taken as it is when it has git. For all else an image with git is made.
 */
export function engineRoom({ work, driver, backendImages, gitImages }: EngineRoomParts): RoomKind {
  const { deadlines, installation } = work;
  return { driver, blueprint, open, close };

  async function open(key: InstanceKey, request: RoomRequest): Promise<GuestClient> {
    const { os, lacksGit, owner, progress, signal } = request;
    if (os.family !== 'image') return made(key, request);
    if (!lacksGit) {
      const own = await withDeadline('finding the image of a room', deadlines.prepareMs, signal, (inner) =>
        backendImages.resolve(driver, os, { owner, progress, signal: inner }),
      );
      const guest = await launch(key, own, signal);
      if (await hasGit(guest, 'user', signal)) return guest;
      await driver.destroy(key, signal);
    }
    return made(key, request).catch((error: unknown) => Promise.reject(withoutGit(error)));
  }

  async function made(key: InstanceKey, request: RoomRequest): Promise<GuestClient> {
    const { progress, signal } = request;
    return gitImages.use(request, async (base) => {
      const image = await withDeadline('giving a room its image', deadlines.prepareMs, signal, (inner) =>
        backendImages.bring(driver, base, { progress, signal: inner }),
      );
      return launch(key, image, signal);
    });
  }

  function launch(key: InstanceKey, image: BackendImage, signal: AbortSignal): Promise<GuestClient> {
    const labels = roomLabels(installation);
    const resources = withHostDefaults({});
    const env = { PATH: usualPath, ...image.env };
    const from = { reference: image.reference, digest: image.digest };
    return withDeadline('opening a room', deadlines.launchMs, signal, (inner) =>
      enterRoom(driver, { key, owner: systemOwner, labels, blueprint, image: from, resources, env }, inner),
    );
  }

  async function close(key: InstanceKey, signal: AbortSignal): Promise<void> {
    await driver.destroy(key, signal).catch(() => {});
  }
}

/** Why a room was wanted at all, which whoever named the image can change. */
function withoutGit(error: unknown): unknown {
  if (!(error instanceof CaissonError)) return error;
  const { message, hint } = noGit('image');
  const { code, problems, context } = error;
  const why = `${message}, and no other room could be made: ${error.message}`;
  return new CaissonError(code, why, { problems, context, cause: error, ...(hint === undefined ? {} : { hint }) });
}
