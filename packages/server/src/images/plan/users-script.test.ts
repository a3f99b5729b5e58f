import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { usersScript } from './users-script.ts';

let root: string;
let etc: string;
const root0 = 'root:x:0:0:root:/root:/bin/sh\n';
const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'caisson-users-'));
  etc = join(root, 'etc');
  mkdirSync(etc);
  writeFileSync(join(etc, 'group'), 'root:x:0:\n');
});
afterEach(() => rmSync(root, { recursive: true }));

const run = (users: Parameters<typeof usersScript>[0]) =>
  execFileSync('/bin/sh', ['-ec', usersScript(users, etc, root)]);
const passwd = () => readFileSync(join(etc, 'passwd'), 'utf8');

test('a user that is there gets the shell, and nothing else changes', () => {
  writeFileSync(join(etc, 'passwd'), `${root0}rooter:x:7:7:\\n & |:/home/r:/bin/false\n`);
  run([{ name: 'root', uid: own.uid, gid: own.gid, home: '/root', shell: '/usr/bin/zsh' }]);
  expect(passwd()).toBe('root:x:0:0:root:/root:/usr/bin/zsh\nrooter:x:7:7:\\n & |:/home/r:/bin/false\n');
});

test('a user that is not there is made, with its group and its home', () => {
  writeFileSync(join(etc, 'passwd'), root0);
  run([{ name: 'dev', ...own, home: "/home/it's", shell: '/bin/a$b' }]);
  expect(passwd()).toBe(`${root0}dev:x:${own.uid}:${own.gid}::/home/it's:/bin/a$b\n`);
  expect(readFileSync(join(etc, 'group'), 'utf8')).toBe(`root:x:0:\ndev:x:${own.gid}:\n`);
});

test('a link in place of the file is replaced, and what it leads to stays', () => {
  const store = join(root, 'store');
  writeFileSync(store, root0, { mode: 0o444 });
  symlinkSync(store, join(etc, 'passwd'));
  run([{ name: 'root', ...own, home: '/root', shell: '/bin/bash' }]);
  expect(passwd()).toContain('/bin/bash');
  expect(readFileSync(store, 'utf8')).toBe(root0);
});

test('it can be done again', () => {
  writeFileSync(join(etc, 'passwd'), root0);
  const users = [{ name: 'dev', ...own, home: '/home/dev', shell: '/bin/sh' }];
  run(users);
  const once = passwd();
  run(users);
  expect(passwd()).toBe(once);
});
