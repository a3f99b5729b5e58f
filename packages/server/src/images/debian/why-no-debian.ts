import { constants } from 'node:fs';
import { access } from 'node:fs/promises';

export interface Missing {
  readonly why: string;
  readonly fix: string;
}

const programs = [
  { program: 'mmdebstrap', package: 'mmdebstrap' },
  { program: 'apt-get', package: 'apt' },
  { program: 'unshare', package: 'util-linux' },
  { program: 'setpriv', package: 'util-linux' },
];
const folders = ['/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** Why Debian cannot be bootstrapped on this machine; undefined when it can. */
export async function whyNoDebian(): Promise<Missing | undefined> {
  if (process.getuid?.() !== 0) return { why: 'a bootstrap needs root', fix: 'Run the server as root.' };
  for (const { program, package: name } of programs) {
    const found = await Promise.all(folders.map((folder) => isProgram(`${folder}/${program}`)));
    if (!found.includes(true)) return { why: `there is no ${program}`, fix: `apt-get install ${name}` };
  }
  return undefined;
}

async function isProgram(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
