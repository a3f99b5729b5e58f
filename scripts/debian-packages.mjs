// What the tests and the quickstart need from Debian: found by a program that must be there, installed by package name.
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const needed = [
  { package: 'git', program: 'git', why: 'sources are git repositories' },
  { package: 'attr', program: 'setfattr', why: 'snapshots are tested for extended attributes' },
  { package: 'postgresql', program: 'initdb', why: 'the store is tested on a real Postgres' },
];

export function missingDebianPackages() {
  return needed.filter((entry) => !onPath(entry.program));
}

function onPath(program) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin', ...postgresFolders()];
  return folders.some((folder) => folder !== '' && existsSync(join(folder, program)));
}

/** Debian keeps the programs of Postgres out of PATH, a folder for each version. */
function postgresFolders() {
  const root = '/usr/lib/postgresql';
  return existsSync(root) ? readdirSync(root).map((version) => join(root, version, 'bin')) : [];
}
