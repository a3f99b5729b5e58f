import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { slowness } from '../slowness.ts';
import { type AttackWorld, type Confined, compile } from './sandbox-world.ts';

export interface HostFilesOptions {
  /** Paths of the host by which another sandbox is known there. */
  placesOf(sandbox: Confined): readonly string[] | Promise<readonly string[]>;
  /** Names of sockets inside without a file, which are its own. */
  readonly ownSockets?: readonly string[];
}

/** Nothing of the host and of others is to be got at, whoever started the sandbox. */
export function describeHostFiles(
  name: string,
  open: () => Promise<AttackWorld>,
  { placesOf, ownSockets = [] }: HostFilesOptions,
): void {
  describe(`files outside of a sandbox of ${name}`, () => {
    const content = `outside ${randomBytes(8).toString('hex')}`;
    let world: AttackWorld;
    let sandbox: Confined;
    let other: Confined;
    /** On the host, and readable by everybody who gets there. */
    let secret: string;

    beforeAll(async () => {
      world = await open();
      secret = join(world.folder, 'secret');
      writeFileSync(secret, content, { mode: 0o644 });
      sandbox = await world.launch();
      other = await world.launch();
      await sandbox.guest.files.write('/escape', compile('escape.c'), { user: 'root', mode: 0o755 });
      await sandbox.guest.files.write('/talk', compile('talk.c'), { user: 'root', mode: 0o755 });
    }, 60_000 * slowness);
    afterAll(() => world.close(), 60_000 * slowness);

    test('no file of the host is there: neither its root, its home folders nor its passwords', async () => {
      const host = readFileSync('/etc/shadow', 'utf8').split('\n')[0] ?? '';
      for (const path of ['/etc/shadow', '/etc/ssh', '/root/.ssh', '/work', '/boot', secret])
        expect((await sandbox.sh(`ls ${path}`)).said, path).toMatch(/No such file/);
      expect((await sandbox.sh(`grep -rqsF '${host}' /etc /root /home /var /run`)).code).toBe(1);
    });

    test('links and .. lead nowhere but into the sandbox, for programs and for the file API alike', async () => {
      const { files } = sandbox.guest;
      const climbing = `${'../'.repeat(40)}${secret.slice(1)}`;
      for (const [name, target] of [
        ['absolute', secret],
        ['climbing', climbing],
        ['through-root', `/proc/self/root${secret}`],
        ['through-cwd', `/proc/self/cwd/${climbing}`],
        ['through-guest', `/proc/1/root${secret}`],
      ] as const) {
        await files.symlink(`/tmp/${name}`, target, { user: 'root' });
        expect((await sandbox.sh(`cat /tmp/${name}`)).said, name).toMatch(/No such file|Permission denied/);
        const reading = files.readAll(`/tmp/${name}`, { user: 'root' });
        await expect(reading, name).rejects.toMatchObject({
          code: expect.stringMatching(/file_not_found|file_forbidden/),
        });
      }
    });

    test('the root and working directory of every process lie inside', async () => {
      const { said } = await sandbox.sh(`for p in /proc/[0-9]*; do cat $p/root${secret} $p/cwd/..${secret}; done`);
      expect(said).not.toContain(content);
      expect(said).toMatch(/No such file|Permission denied/);
    });

    test('climbing out of a chroot ends at the root of the sandbox', async () => {
      expect((await sandbox.sh(`/escape ${secret}`)).said).toBe('No such file or directory\n');
      // It does get out of the chroot: that is where it arrives.
      await sandbox.sh('echo inside > /marker');
      expect((await sandbox.sh('/escape /marker')).said).toContain('read: inside');
    });

    test("another sandbox's files, socket and processes are not there", async () => {
      await other.sh('echo theirs > /tmp/theirs; echo theirs > /dev/shm/theirs; sleep 60 & ');
      const places = await placesOf(other);
      for (const path of ['/tmp/theirs', '/dev/shm/theirs', ...places])
        expect((await sandbox.sh(`ls ${path}`)).said, path).toMatch(/No such file/);
      expect((await sandbox.sh('cat /proc/[0-9]*/cmdline')).said).not.toContain(other.id);
      expect((await sandbox.sh(`kill -9 ${other.pid}`)).said).toMatch(/No such process/);
      for (const place of places)
        expect((await sandbox.sh(`/talk ${place} 1 < /dev/null`)).said).toMatch(/No such file|Connection refused/);
      expect(await other.isWell()).toBe(true);
    });

    test('shared memory, message queues and ports without a file are each sandbox its own', async () => {
      await other.sh('ipcmk -M 4096 -p 0666; ipcmk -Q -p 0666');
      expect((await other.sh('tail -n +2 /proc/sysvipc/shm /proc/sysvipc/msg | grep -c 666')).said).toBe('2\n');
      expect((await sandbox.sh('tail -qn +2 /proc/sysvipc/shm /proc/sysvipc/msg')).said).toBe('');
      const { said } = await sandbox.sh('tail -qn +2 /proc/net/unix');
      const names = [...said.matchAll(/@(\S*)/g)].map(([, found]) => found ?? '');
      expect(names.filter((found) => !ownSockets.includes(found))).toEqual([]);
    });
  });
}
