import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deniedErrno } from '../../packages/server/src/isolation/seccomp.ts';
import { slowness } from '../slowness.ts';
import { type AttackWorld, type Confined, compile } from './sandbox-world.ts';

/** Not a capability of the sandbox: refused by the kernel itself. */
const EPERM = 1;
const ENOSYS = 38;
const EPROTONOSUPPORT = 93;
const SIGSYS = 31;

/** What each group of calls would be good for, and the names under which `native/try-call.c` makes them. */
const denied: Readonly<Record<string, string>> = {
  'mounting and unmounting': 'mount umount2 open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr',
  pivot_root: 'pivot_root',
  'entering a namespace': 'setns',
  'programs in the kernel (bpf)': 'bpf',
  io_uring: 'io_uring_setup io_uring_enter io_uring_register',
  'the keyrings, which no namespace has of its own': 'keyctl add_key request_key',
  userfaultfd: 'userfaultfd',
  perf_event_open: 'perf_event_open',
  'another kernel (kexec)': 'kexec_load kexec_file_load',
  'kernel modules': 'init_module finit_module delete_module',
  'files by handle, past every mount': 'open_by_handle_at name_to_handle_at',
  'quotas of the disk': 'quotactl quotactl_fd',
  swap: 'swapon swapoff',
  reboot: 'reboot',
  'names of the machine': 'sethostname setdomainname',
  'the clock': 'settimeofday clock_settime clock_adjtime adjtimex',
  'accounting and the log of the kernel': 'acct syslog vhangup fanotify_init',
  'descriptors and objects of other processes': 'pidfd_getfd kcmp',
  'placing memory': 'mbind migrate_pages',
  ...(process.arch === 'x64' ? { 'ports of the machine': 'iopl ioperm modify_ldt' } : {}),
};

/** The same of calls of which other forms are allowed. */
const deniedForms: Readonly<Record<string, string>> = {
  'unshare of every namespace':
    'unshare-mount unshare-cgroup unshare-uts unshare-ipc unshare-user unshare-pid unshare-network unshare-time',
  'clone into every namespace': 'clone-mount clone-cgroup clone-uts clone-ipc clone-user clone-pid clone-network',
  'personalities that weaken programs': 'personality-read-implies-exec personality-old-addresses',
  AF_ALG: 'socket-alg',
  'AF_VSOCK, which no namespace has of its own': 'socket-vsock socket-high-bits',
  AF_PACKET: 'socket-packet',
  'every other family of sockets': 'socket-key socket-bluetooth socket-can socket-xdp socket-tipc socketpair-inet',
  'NETLINK other than ROUTE': 'netlink-usersock netlink-netfilter netlink-uevent netlink-generic netlink-crypto',
};

/** Calls that the filter lets through, because programs need their harmless forms, and the kernel refuses. */
const refused: Readonly<Record<string, string>> = {
  'raw sockets': 'socket-raw-icmp socket-raw-all socket-raw-six',
  'device nodes': 'mknod-memory mknod-null mknod-disk mknod-loop mknod-in-dev',
  'tracing the guest, or reading its memory': 'ptrace-guest ptrace-seize-guest read-guest-memory',
  'attributes that steer the overlay': 'trusted-attribute',
};

/**
 * Which calls of the kernel a sandbox can make, whoever started it. `formErrno`: with which error those fail of which other
 * forms are allowed; not every engine can be told.
 */
export function describeCalls(name: string, open: () => Promise<AttackWorld>, formErrno = deniedErrno): void {
  describe(`the kernel behind ${name}`, () => {
    let world: AttackWorld;
    let sandbox: Confined;

    beforeAll(async () => {
      world = await open();
      sandbox = await world.launch();
      await sandbox.guest.files.write('/try-call', compile('try-call.c'), { user: 'root', mode: 0o755 });
    }, 60_000 * slowness);
    afterAll(() => world.close(), 60_000 * slowness);

    async function outcomes(names: string, user: string): Promise<Record<string, string>> {
      const { said } = await sandbox.sh(`/try-call ${names}`, user);
      return Object.fromEntries(
        said
          .trim()
          .split('\n')
          .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]),
      );
    }
    const all = (names: string, outcome: number | string) =>
      Object.fromEntries(names.split(' ').map((name) => [name, String(outcome)]));

    test.each(Object.entries(denied))('the filter denies %s', async (_, names) => {
      for (const user of ['root', 'user']) expect(await outcomes(names, user)).toEqual(all(names, deniedErrno));
    });

    test.each(Object.entries(deniedForms))('the filter denies %s', async (_, names) => {
      for (const user of ['root', 'user']) expect(await outcomes(names, user)).toEqual(all(names, formErrno));
    });

    test.each(Object.entries(refused))('the kernel refuses %s', async (_, names) => {
      expect(await outcomes(names, 'root')).toEqual(all(names, EPERM));
    });

    test('clone3, into whose flags a filter cannot look, is as if it were not there', async () => {
      expect(await outcomes('clone3', 'root')).toEqual({ clone3: String(ENOSYS) });
    });

    test('the audit of the kernel is as if there were none: programs go on without it', async () => {
      expect(await outcomes('netlink-audit', 'root')).toEqual({ 'netlink-audit': String(EPROTONOSUPPORT) });
    });

    test('what programs need of all this is allowed', async () => {
      expect(await outcomes('netlink-route socket-tcp', 'user')).toEqual(all('netlink-route socket-tcp', 'allowed'));
    });

    test.runIf(process.arch === 'x64')('a call in the form of another machine ends who makes it', async () => {
      const names = 'int80-getpid x32-getpid x32-open_by_handle_at';
      expect(await outcomes(names, 'root')).toEqual(all(names, `killed ${SIGSYS}`));
    });

    test.runIf(process.arch === 'x64')('a 32-bit program is ended at its first call', async () => {
      const program = compile('exit-seven.c', '-m32', '-nostdlib');
      await sandbox.guest.files.write('/exit-seven', program, { user: 'root', mode: 0o755 });
      const { code, signal } = await sandbox.guest.processes.exec(['/exit-seven']);
      expect({ code, signal }).toEqual({ code: undefined, signal: SIGSYS });
    });
  });
}
