import { execFileSync, spawnSync } from 'node:child_process';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { compile, SandboxWorld } from './sandbox-world.ts';

/** Somebody with an account on the machine, and nothing else. */
const stranger = { uid: 54_321, gid: 54_321, cwd: '/', encoding: 'utf8' } as const;

describe.each(['runc', 'runsc'] as const)('other users of the machine, and a sandbox of %s', (runtime) => {
  let world: SandboxWorld | undefined;
  afterEach(async () => {
    await world?.close();
    world = undefined;
  });

  test('they get neither to its files nor to its programs nor to its sockets', async () => {
    world = await SandboxWorld.open(runtime);
    const sandbox = await world.launch();
    await sandbox.guest.files.write('/open', 'x', { user: 'root', mode: 0o666 });
    await sandbox.guest.files.write('/setuid', compile('talk.c'), { user: 'root', mode: 0o6755 });
    for (const command of [
      ['ls', sandbox.rootfs.path],
      ['cat', join(sandbox.rootfs.path, 'open')],
      [join(sandbox.rootfs.path, 'setuid'), sandbox.folder.socket, '1'],
      ['stat', sandbox.folder.socket],
      ['cat', join(sandbox.folder.path, 'secrets.json')],
    ]) {
      const [program = '', ...args] = command;
      const { status, stderr, error } = spawnSync(program, args, stranger);
      expect({ program, refused: status !== 0 }).toEqual({ program, refused: true });
      expect(`${stderr ?? ''}${error?.message ?? ''}`).toMatch(/Permission denied|EACCES/);
    }
  });

  test('a program of its tree gives nobody on the host a power, and its devices are none', async () => {
    world = await SandboxWorld.open(runtime);
    const { rootfs } = await world.launch();
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .filter((line) => line.includes(` ${rootfs.path}`));
    expect(mounts.length).toBeGreaterThanOrEqual(2);
    for (const line of mounts)
      expect(line.split(' ')[5]?.split(',')).toEqual(expect.arrayContaining(['nosuid', 'nodev']));
    // Nothing that a sandbox may write steers the overlay.
    expect(mounts.join()).not.toMatch(/userxattr|metacopy=on|redirect_dir=(on|follow)/);
  });
});

/** Everything below a folder that others than its owner may list or write, without what is mounted in it. */
function exposed(folder: string): string[] {
  const listed = execFileSync('find', [folder, '-xdev', '-perm', '/066', '!', '-type', 'l', '-printf', '%P %m\\n'], {
    encoding: 'utf8',
  });
  return listed.split('\n').filter((line) => line !== '');
}

test.each([0o000, 0o077])('folders at run time are closed under the umask %o', async (mask) => {
  const before = process.umask(mask);
  const world = await SandboxWorld.open('runc');
  try {
    const { folder, isWell } = await world.launch({ quotaBytes: 16 * 1024 * 1024 });
    expect(await isWell()).toBe(true);
    const mode = (path: string) => (lstatSync(join(world.folder, path)).mode & 0o777).toString(8);
    expect(['run', 'run/instances', 'mounts', 'pool'].map(mode)).toEqual(['711', '700', '711', '700']);
    expect(readdirSync(join(world.folder, 'mounts')).map((name) => mode(join('mounts', name)))).toEqual(['700']);
    // What lies in a closed folder is closed; here nothing is in an open one.
    expect(exposed(join(world.folder, 'run')).filter((line) => !line.startsWith('instances/'))).toEqual([]);
    const secret = ['config.json', 'secrets.json', 'instance.json'].map(
      (name) => lstatSync(join(folder.path, name)).mode & 0o777,
    );
    expect(secret).toEqual([0o600, 0o600, 0o600]);
  } finally {
    process.umask(before);
    await world.close();
  }
});
