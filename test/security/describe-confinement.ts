import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sandboxCapabilities } from '../../packages/server/src/isolation/capabilities.ts';
import { maskedPaths } from '../../packages/server/src/isolation/hidden-paths.ts';
import { slowness } from '../slowness.ts';
import type { AttackWorld, Confined } from './sandbox-world.ts';

/** As the kernel numbers them. */
const numbers: Readonly<Record<(typeof sandboxCapabilities)[number], number>> = {
  CAP_CHOWN: 0,
  CAP_DAC_OVERRIDE: 1,
  CAP_FOWNER: 3,
  CAP_FSETID: 4,
  CAP_KILL: 5,
  CAP_SETGID: 6,
  CAP_SETUID: 7,
  CAP_SETPCAP: 8,
  CAP_NET_BIND_SERVICE: 10,
  CAP_SYS_CHROOT: 18,
  CAP_AUDIT_WRITE: 29,
  CAP_SETFCAP: 31,
};
const ours = sandboxCapabilities.reduce((mask, name) => mask | (1n << BigInt(numbers[name])), 0n);
const hex = (mask: bigint) => mask.toString(16).padStart(16, '0');

function statusFields(text: string): Record<string, string> {
  return Object.fromEntries(
    text.split('\n').map((line) => line.split(':').map((part) => part.trim()) as [string, string]),
  );
}

/** What differs between those who start sandboxes. */
export interface Confinement {
  readonly userNamespace: boolean;
  /** What of ours is seen inside, as `stat` tells it. */
  readonly files: readonly string[];
}

/** What a sandbox is shut in by, whoever started it. */
export function describeConfinement(name: string, open: () => Promise<AttackWorld>, own: Confinement): void {
  describe(`what ${name} shuts in`, () => {
    let world: AttackWorld;
    let sandbox: Confined;

    beforeAll(async () => {
      world = await open();
      sandbox = await world.launch();
    }, 60_000 * slowness);
    afterAll(() => world.close(), 60_000 * slowness);

    const status = async (user: string) => statusFields((await sandbox.sh('cat /proc/self/status', user)).said);

    if (own.userNamespace) {
      test('root inside is nobody outside, and another nobody in each sandbox', async () => {
        const other = await world.launch();
        const ids = [sandbox, other].map(({ pid }) => {
          const { Uid = '', Gid = '' } = statusFields(readFileSync(`/proc/${pid}/status`, 'utf8'));
          const found = new Set([...Uid.split('\t'), ...Gid.split('\t')].map(Number));
          expect(found.size).toBe(1);
          return [...found][0] ?? 0;
        });
        for (const id of ids) expect(id).toBeGreaterThanOrEqual(0x8000_0000);
        expect(Math.abs((ids[0] ?? 0) - (ids[1] ?? 0))).toBeGreaterThanOrEqual(65_536);
        expect((await status('root')).Uid).toBe('0\t0\t0\t0');
      });
    }

    test('root inside has the listed capabilities and can get no other', async () => {
      const found = await status('root');
      expect(found).toMatchObject({ CapEff: hex(ours), CapPrm: hex(ours), CapBnd: hex(ours) });
      expect(found).toMatchObject({ CapInh: hex(0n), CapAmb: hex(0n) });
    });

    test('the user has no capability at all', async () => {
      expect(await status('user')).toMatchObject({
        CapEff: hex(0n),
        CapPrm: hex(0n),
        CapInh: hex(0n),
        CapAmb: hex(0n),
      });
    });

    test('every process, and the guest too, is filtered and can gain no privileges', async () => {
      for (const user of ['root', 'user']) expect(await status(user)).toMatchObject({ Seccomp: '2', NoNewPrivs: '1' });
      const guest = statusFields(readFileSync(`/proc/${sandbox.pid}/status`, 'utf8'));
      expect(guest).toMatchObject({ Seccomp: '2', NoNewPrivs: '1', CapEff: hex(ours) });
    });

    test('a setuid-root program gives the user nothing', async () => {
      const made = await sandbox.sh('cp /bin/cat /tmp/setuid && chmod 6755 /tmp/setuid && stat -c %a:%u /tmp/setuid');
      expect(made.said).toBe('6755:0\n');
      const { said } = await sandbox.sh('/tmp/setuid /proc/self/status', 'user');
      expect(statusFields(said)).toMatchObject({ Uid: '1000\t1000\t1000\t1000', Gid: '1000\t1000\t1000\t1000' });
      expect(statusFields(said)).toMatchObject({ CapEff: hex(0n) });
    });

    test('capabilities of a file give the user nothing', async () => {
      await sandbox.sh('cp /bin/cat /tmp/capable');
      // Version 2, effective; permitted: all that the sandbox has.
      const capability = Buffer.alloc(20);
      capability.writeUInt32LE(0x0200_0001, 0);
      capability.writeUInt32LE(Number(ours & 0xffff_ffffn), 4);
      await sandbox.guest.files.setXattr('/tmp/capable', 'security.capability', capability, { user: 'root' });
      expect(await sandbox.guest.files.listXattrs('/tmp/capable', { user: 'root' })).toContain('security.capability');
      const { said } = await sandbox.sh('/tmp/capable /proc/self/status', 'user');
      expect(statusFields(said)).toMatchObject({ CapEff: hex(0n), CapPrm: hex(0n) });
    });

    test('/dev has the harmless devices and no other', async () => {
      const { said } = await sandbox.sh('find /dev ! -type d ! -type l -exec stat -c "%n %F" {} + | sort');
      const names = ['full', 'null', 'pts/ptmx', 'random', 'tty', 'urandom', 'zero'];
      const devices = names.map((name) => `/dev/${name} character special file`);
      expect(said.trim().split('\n')).toEqual([...own.files, ...devices]);
    });

    test('there is no network but loopback', async () => {
      expect((await sandbox.sh('ls /sys/class/net; tail -n +3 /proc/net/dev | cut -d: -f1')).said).toBe('lo\n    lo\n');
    });

    test('no process outside is to be seen or signalled', async () => {
      const { said } = await sandbox.sh('for p in /proc/[0-9]*; do tr "\\0" " " < $p/cmdline; echo; done');
      expect(said).toContain('/dev/.caisson/guest guest');
      expect(said).not.toMatch(/vitest|node /);
      // Pids of the host mean nothing inside, or somebody inside.
      expect((await sandbox.sh(`kill -0 ${process.pid}`)).said).toMatch(/No such process/);
      expect((await sandbox.sh(`ls /proc/${process.pid}`)).said).toMatch(/No such file/);
    });

    test('the kernel cannot be steered through /proc', async () => {
      const files = [
        'sysrq-trigger',
        'sys/kernel/core_pattern',
        'sys/kernel/panic',
        'sys/kernel/hostname',
        'sys/vm/drop_caches',
      ];
      for (const file of files) {
        const { code, said } = await sandbox.sh(`echo 1 > /proc/${file}`);
        expect({ file, code }).toEqual({ file, code: 2 });
        expect(said).toMatch(/Read-only file system|nonexistent|Permission denied/);
      }
    });

    test.each([...maskedPaths, '/proc/kmsg', '/proc/kpagecount'])('%s tells nothing', async (path) => {
      const { said } = await sandbox.sh(
        `if [ -d ${path} ]; then ls -A ${path}; else head -c 100 ${path} 2>/dev/null; fi`,
      );
      expect(said).toBe('');
    });

    test('addresses of the kernel are hidden', async () => {
      expect((await sandbox.sh('cut -c1-16 /proc/kallsyms | sort -u')).said).toMatch(/^(0{16}\n)?$/);
    });

    test('its control group cannot be changed, left or given a program to run on the host', async () => {
      // A folder for each controller, or the one tree itself.
      const found = await sandbox.sh('ls -d /sys/fs/cgroup/*/ 2>/dev/null || echo /sys/fs/cgroup');
      const groups = found.said.trim().split('\n');
      const files = [
        'cgroup.procs',
        'pids.max',
        'release_agent',
        'notify_on_release',
        'tasks',
        'memory.limit_in_bytes',
      ];
      const newFiles = [
        'cgroup.subtree_control',
        'cgroup.freeze',
        'cgroup.kill',
        'memory.max',
        'cpu.max',
        'cpuset.cpus',
      ];
      const tried = new Set<string>();
      for (const group of groups) {
        for (const file of [...files, ...newFiles]) {
          if ((await sandbox.sh(`test -e ${group}/${file}`)).code !== 0) continue;
          const { code } = await sandbox.sh(`echo 1 > ${group}/${file}`);
          expect({ group, file, code }).toEqual({ group, file, code: 2 });
          tried.add(file);
        }
      }
      expect([...tried]).toEqual(expect.arrayContaining(['cgroup.procs', 'pids.max']));
      const made = await sandbox.sh(`for g in ${groups.join(' ')}; do mkdir $g/own && echo made; done`);
      expect(made.said).not.toContain('made');
      expect(await sandbox.isWell()).toBe(true);
    });

    test('the guest cannot be ended, traced or looked into from inside', async () => {
      for (const signal of ['KILL', 'STOP', 'SEGV', 'ABRT']) await sandbox.sh(`kill -${signal} 1`);
      const { said } = await sandbox.sh(
        'cat /proc/1/environ /proc/1/maps /proc/1/mem /proc/1/fd/0; ls /proc/1/root/ /proc/1/cwd/',
      );
      expect(
        said
          .trim()
          .split('\n')
          .every((line) => /Permission denied/.test(line)),
      ).toBe(true);
      expect(await sandbox.isWell()).toBe(true);
    });

    test("the guest's program and what lies beside it can be neither changed nor replaced", async () => {
      const files = own.files.map((file) => file.split(' ')[0] ?? '');
      const lines = files.flatMap((file) => [`rm ${file}`, `mv ${file} ${file}.moved`, `ln -sf /bin/true ${file}`]);
      const writes = ['echo x > /dev/.caisson/guest', 'chmod 777 /dev/.caisson/guest'];
      const moves = ['mv /dev/.caisson /dev/moved', 'rm -r /dev/.caisson'];
      for (const line of [...moves, ...writes, ...lines]) expect((await sandbox.sh(line)).code, line).not.toBe(0);
      expect((await sandbox.sh('find /dev/.caisson ! -type d')).said.trim().split('\n').sort()).toEqual(files);
    });
  });
}
