import { rmSync } from 'node:fs';
import { guestProgram } from './backends.ts';
import type { DataFolder } from './data-folder.ts';
import type { Driver } from './drivers/driver.ts';
import type { EgressSubjects } from './network/egress.ts';
import type { ProjectSecrets } from './network/secrets/project-secrets.ts';
import type { Egress } from './open-egress.ts';
import type { Filesystems } from './sandbox/filesystems.ts';
import type { Runner } from './sandbox/runner.ts';
import { Contents } from './sandbox/sources/contents.ts';
import { Credentials } from './sandbox/sources/credentials.ts';
import { gitRooms } from './sandbox/sources/git-room.ts';
import { Sources } from './sandbox/sources/sources.ts';
import type { WorkContext } from './sandbox/work-context.ts';

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
  readonly work: Pick<WorkContext, 'deadlines' | 'installation'>;
  readonly runner: () => Runner;
  readonly egress: Egress;
  readonly subjects: EgressSubjects;
  readonly projects: ProjectSecrets;
}

/** Everything that brings files from elsewhere. What an earlier server had half brought goes. */
export function openSources(parts: SourceParts, { folders, idleMs }: SourceSettings): Sources {
  const { folder, drivers, filesystems, work, egress, subjects, projects } = parts;
  const contextFolder = folder.file('sources');
  rmSync(contextFolder, { recursive: true, force: true });
  const { reach } = egress;
  const program = guestProgram();
  return new Sources({
    reach,
    idleMs,
    subjects,
    contextFolder,
    guestProgram: program,
    credentials: new Credentials(projects),
    contents: new Contents({ reach, folders, idleMs, guestProgram: program }),
    rooms: gitRooms({ work, drivers, filesystems, hold: (id, task) => parts.runner().whileIdle(id, task) }),
  });
}
