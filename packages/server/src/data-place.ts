import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CaissonError } from '@caisson/contract';

/** What a running server tells about itself, for the CLI and for whoever comes second. */
export interface ServerFacts {
  readonly pid: number;
  readonly version: string;
  readonly socket: string;
  readonly addresses: readonly string[];
  readonly startedAt: string;
}

/** What the kernel takes as the address of a unix socket. Node cuts a longer one without a word. */
const maxSocketBytes = 107;

/** Where things are in a data folder: what the server and those who look for it must agree on. */
export function factsFile(folder: string): string {
  return join(folder, 'server.json');
}

export function socketFile(folder: string): string {
  const socket = join(folder, 'server.sock');
  if (Buffer.byteLength(socket) <= maxSocketBytes) return socket;
  throw new CaissonError('request_invalid', `the path of the data folder is too long for a socket in it: ${folder}`, {
    hint: `Choose one of at most ${maxSocketBytes - '/server.sock'.length} bytes with \`--data\` or \`CAISSON_DATA_FOLDER\`.`,
  });
}

/** What the server of this folder says about itself, if there is one or was one that ended badly. */
export function readFacts(folder: string): ServerFacts | undefined {
  try {
    const facts: unknown = JSON.parse(readFileSync(factsFile(folder), 'utf8'));
    const known = typeof facts === 'object' && facts !== null && 'pid' in facts && Number.isInteger(facts.pid);
    return known ? (facts as ServerFacts) : undefined;
  } catch {
    return undefined;
  }
}

export function makeDataFolder(folder: string): void {
  try {
    makeWithParents(folder);
  } catch (error) {
    throw new CaissonError(
      'data_folder_unusable',
      `cannot make the data folder ${folder}: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }
}

/** By hand, because Node's `recursive` never returns where the kernel refuses every new folder, as below /proc. */
function makeWithParents(folder: string): void {
  if (existsSync(folder)) return;
  makeWithParents(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process was quicker.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
