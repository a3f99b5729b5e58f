import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { socketFile } from '@caisson/server/data-place';

/** Where a server of this machine keeps what it knows, and how to reach it. */
export interface LocalPlace {
  readonly folder: string;
  readonly socket: string;
  /** What a server in the background wrote. */
  readonly log: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

export function localPlace(option: string | undefined, env: Environment): LocalPlace {
  const folder = resolve(option || env.CAISSON_DATA_FOLDER || join(dataHome(env), 'caisson'));
  return { folder, socket: socketFile(folder), log: join(folder, 'server.log') };
}

/** A relative path there must be ignored, says the specification of the XDG folders. */
function dataHome(env: Environment): string {
  if (env.XDG_DATA_HOME?.startsWith('/')) return env.XDG_DATA_HOME;
  return join(env.HOME || homedir(), '.local', 'share');
}
