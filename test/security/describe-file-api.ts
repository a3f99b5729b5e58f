import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { slowness } from '../slowness.ts';
import { type AttackWorld, type Confined, compile } from './sandbox-world.ts';

/** The file API acts inside, as the user that it is told: never with more, however fast the names change. */
export function describeFileApi(name: string, open: () => Promise<AttackWorld>): void {
  describe(`the file API on hostile names, on ${name}`, () => {
    const rounds = 1_000;
    let world: AttackWorld;
    let sandbox: Confined;

    beforeAll(async () => {
      world = await open();
      sandbox = await world.launch();
      await sandbox.guest.files.write('/swap', compile('swap.c'), { user: 'root', mode: 0o755 });
      await sandbox.sh('echo -n private > /root/file && chmod 600 /root/file && chmod 700 /root');
      await sandbox.sh(
        'mkdir -p /tmp/race/own && echo -n own > /tmp/race/own/file && ln -s /root /tmp/race/link',
        'user',
      );
    }, 60_000 * slowness);
    afterAll(() => world.close(), 60_000 * slowness);

    test('a thousand rounds against links that come and go never leave what the user may reach', async () => {
      const { files, processes } = sandbox.guest;
      const argv = ['/swap', '/tmp/race/own', '/tmp/race/link'];
      const racer = await processes.spawn({ argv, user: 'user', attach: false });
      const outcomes = { own: 0, refused: 0 };
      const codes = new Set<string>();
      const note = (promise: Promise<unknown>) =>
        promise.then(
          () => (outcomes.own += 1),
          (error) => {
            outcomes.refused += 1;
            codes.add(error.code);
          },
        );
      for (let round = 0; round < rounds; round += 10) {
        const reads = Array.from({ length: 4 }, async () => {
          const content = await files.readAll('/tmp/race/own/file');
          if (content.toString() !== 'own') throw new Error(`it gave ${content}`);
        });
        const writes = [0, 1].map((n) => files.write(`/tmp/race/own/new-${n}`, 'x'));
        const others = [
          files.chmod('/tmp/race/own', 0o777, { recursive: true }),
          files.remove('/tmp/race/own/new-0', { missingOk: true }),
          files.list('/tmp/race/own', { depth: 2 }),
          files.move('/tmp/race/own/new-1', '/tmp/race/moved'),
        ];
        await Promise.all([...reads, ...writes, ...others].map(note));
      }
      await racer.signal(9);
      expect(outcomes.own + outcomes.refused).toBe(rounds);
      expect(outcomes.own).toBeGreaterThan(0);
      expect(
        [...codes].filter((code) => !/^(file_forbidden|file_not_found|file_invalid|file_exists)$/.test(code)),
      ).toEqual([]);
      expect((await sandbox.sh('ls -A /root; stat -c %a /root /root/file; cat /root/file')).said).toBe(
        'file\n700\n600\nprivate',
      );
    });

    test('pipes and devices in the place of files hold nobody up', async () => {
      const { files } = sandbox.guest;
      await sandbox.sh('mkfifo /tmp/pipe && chmod 666 /tmp/pipe');
      await sandbox.sh(
        'ln -s /dev/zero /tmp/zero; ln -s /dev/tty /tmp/tty; ln -s /proc/kmsg /tmp/kmsg; ln -s /proc/self/mem /tmp/mem',
      );
      const begin = performance.now();
      for (const name of ['pipe', 'zero', 'tty', 'kmsg', 'mem']) {
        for (const user of ['root', 'user']) {
          const path = `/tmp/${name}`;
          // Empty is all that the memory of a process that has ended gives.
          const read = files.readAll(path, { user, maxBytes: 4096 }).then(
            (all) => all.length,
            () => 0,
          );
          const written = files.write(path, 'x', { user, how: 'range', offset: 0 }).then(
            () => 1,
            () => 0,
          );
          expect(await Promise.all([read, written]), `${name} as ${user}`).toEqual([0, 0]);
        }
      }
      for await (const _ of files.grep('/tmp', 'x', { user: 'root', hidden: true }));
      for await (const _ of files.tarOut('/tmp', { user: 'root' }));
      expect(performance.now() - begin).toBeLessThan(30_000 * slowness);
      expect(await sandbox.isWell()).toBe(true);
    });

    test('files of /proc that never end are cut where the caller said', async () => {
      const reading = sandbox.guest.files.readAll('/proc/self/pagemap', { user: 'root', maxBytes: 65_536 });
      const late = delay(5_000 * slowness, 'late', { ref: false });
      expect(
        await Promise.race([
          reading.then(
            (all) => all.length <= 65_536 || 'too much',
            () => true,
          ),
          late,
        ]),
      ).toBe(true);
      expect(await sandbox.isWell()).toBe(true);
    });
  });
}
