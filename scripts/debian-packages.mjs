// What the tests and the quickstart need from Debian: found by a program that must be there, installed by package name.
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const needed = [{ package: 'git', program: 'git', why: 'sources are git repositories' }];

export function missingDebianPackages() {
  return needed.filter((entry) => !onPath(entry.program));
}

function onPath(program) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return folders.some((folder) => folder !== '' && existsSync(join(folder, program)));
}
