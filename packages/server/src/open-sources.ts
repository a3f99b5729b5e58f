import { rmSync } from 'node:fs';
import { guestProgram } from './backends.ts';
import type { DataFolder } from './data-folder.ts';
import type { Driver } from './drivers/driver.ts';
import type { Images } from './images/images.ts';
import type { EgressSubjects } from './network/egress.ts';
import type { ProjectSecrets } from './network/secrets/project-secrets.ts';
import type { Egress } from './open-egress.ts';
import type { Filesystems } from './sandbox/filesystems.ts';
import { Contents } from './sandbox/sources/contents.ts';
import { Credentials } from './sandbox/sources/credentials.ts';
import { GitImages, type GitImagesParts } from './sandbox/sources/git-images.ts';
import { type GitRoomParts, gitRooms } from './sandbox/sources/git-room.ts';
import { Sources } from './sandbox/sources/sources.ts';
import type { SecretPlace, SecretStore } from './store/secrets.ts';

/** What the operator of a server says of where files come from. */
export interface SourceSettings {
  /** Folders of the machine that specs may take files from. */
  readonly folders?: readonly string[] | undefined;
  /** How long a host may say nothing, for tests. */
  readonly idleMs?: number | undefined;
}

export interface SourceParts {
  readonly folder: DataFolder;
  readonly drivers: readonly Driver[];
  readonly filesystems: Filesystems | undefined;
  readonly images: Images | undefined;
  readonly backendImages: GitRoomParts['backendImages'];
  readonly plans: GitImagesParts['plans'];
  /** Known only when the first source is asked for: what builds is made later than what brings. */
  readonly builder: GitImagesParts['builder'];
  readonly rooms: GitRoomParts['work'];
  readonly hold: GitRoomParts['hold'];
  readonly egress: Egress;
  readonly subjects: EgressSubjects;
  readonly projects: ProjectSecrets;
  readonly secrets: Pick<SecretStore, 'used'>;
}

/**
 * Everything that brings files from elsewhere; undefined where no sandbox could take them. What an earlier server had half
 * brought goes.
 */
export function openSources(parts: SourceParts, { folders, idleMs }: SourceSettings): Sources | undefined {
  const { folder, drivers, filesystems, rooms, hold, egress, subjects, projects, secrets } = parts;
  const { images, backendImages, plans, builder } = parts;
  if (!drivers.some(({ capabilities }) => capabilities.guest)) return undefined;
  const contextFolder = folder.file('sources');
  rmSync(contextFolder, { recursive: true, force: true });
  const { reach } = egress;
  // Nothing waits for it, and nothing fails with it: it is for people who look.
  const used = (place: SecretPlace, name: string) => void secrets.used(place, name, Date.now()).catch(() => {});
  const program = guestProgram();
  const gitImages = images && new GitImages({ plans, images, builder });
  return new Sources({
    reach,
    idleMs,
    subjects,
    contextFolder,
    guestProgram: program,
    credentials: new Credentials(projects, used),
    contents: new Contents({ reach, folders, idleMs, guestProgram: program, scratchFolder: contextFolder }),
    rooms: gitRooms({ work: rooms, drivers, filesystems, backendImages, gitImages, hold }),
  });
}
