/**
 * Which calls of the kernel a sandbox may make: an allowlist, the same for every driver that can have one.
 *
 * A call that is not in it fails with `deniedErrno` and nothing else happens. No call that is allowed ever fails with that
 * number, so a test, and a person who reads a trace, knows a denial for what it is. Where programs must fall back to an
 * older call they are told `ENOSYS` instead, and that there is no audit where they ask for it.
 */

/** ENOANO: of no use to any kernel of today. */
export const deniedErrno = 55;
const ENOSYS = 38;
const EPROTONOSUPPORT = 93;

/** Every flag of clone, clone3, unshare and setns that makes or enters a namespace. */
const namespaceFlags = 0x7e02_0080;

const unix = 1;
const inet = 2;
const inet6 = 10;
const netlink = 16;
const netlinkRoute = 0;
const netlinkAudit = 9;

/** What `personality` may be asked for: to be told, Linux, and the same without random addresses, which debuggers want. */
const personalities = [0x0, 0x8, 0x20000, 0x20008, 0x40000, 0xffffffff];

const files = `
access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 fadvise64 fallocate
fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr flistxattr flock fremovexattr fsetxattr fstat
fstatfs fsync ftruncate futimesat getcwd getdents getdents64 getxattr getxattrat inotify_add_watch inotify_init
inotify_init1 inotify_rm_watch ioctl lchown lgetxattr link linkat listxattr listxattrat llistxattr lremovexattr lseek
lsetxattr lstat mkdir mkdirat mknod mknodat newfstatat open openat openat2 pipe pipe2 pread64 preadv preadv2 pwrite64
pwritev pwritev2 read readahead readlink readlinkat readv removexattr removexattrat rename renameat renameat2 rmdir
sendfile setxattr setxattrat splice stat statfs statx symlink symlinkat sync sync_file_range syncfs tee truncate umask
unlink unlinkat utime utimensat utimes vmsplice write writev chroot
`;

const memory = `
brk madvise map_shadow_stack membarrier memfd_create mincore mlock mlock2 mlockall mmap mprotect mremap mseal msync
munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect process_madvise remap_file_pages
`;

const processes = `
alarm arch_prctl capget capset execve execveat exit exit_group fork futex futex_requeue futex_wait futex_waitv futex_wake
get_robust_list get_thread_area getegid geteuid getgid getgroups getitimer getpgid getpgrp getpid getppid getpriority
getresgid getresuid getrlimit getrusage getsid gettid getuid ioprio_get ioprio_set kill landlock_add_rule
landlock_create_ruleset landlock_restrict_self nanosleep pause pidfd_open pidfd_send_signal prctl prlimit64
process_mrelease process_vm_readv process_vm_writev ptrace restart_syscall rseq rt_sigaction rt_sigpending
rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max
sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval
sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield seccomp set_robust_list
set_thread_area set_tid_address setfsgid setfsuid setgid setgroups setitimer setpgid setpriority setregid setresgid
setresuid setreuid setrlimit setsid setuid sigaltstack tgkill tkill vfork wait4 waitid
`;

const waiting = `
clock_getres clock_gettime clock_nanosleep epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2
epoll_wait epoll_wait_old eventfd eventfd2 gettimeofday io_cancel io_destroy io_getevents io_pgetevents io_setup
io_submit poll ppoll pselect6 select signalfd signalfd4 time timer_create timer_delete timer_getoverrun timer_gettime
timer_settime timerfd_create timerfd_gettime timerfd_settime times
`;

const talking = `
accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg sendmmsg sendmsg sendto
setsockopt shutdown mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd
semctl semget semop semtimedop shmat shmctl shmdt shmget
`;

const system = 'getcpu getrandom sysinfo uname lsm_get_self_attr lsm_list_modules';

/** Those of other machines than x86-64 that are the same calls under another name. */
const otherMachines = 'sync_file_range2 arm_fadvise64_64 breakpoint cacheflush set_tls';

const words = (text: string) => text.split(/\s+/).filter((word) => word !== '');

export const allowedCalls: readonly string[] = [
  files,
  memory,
  processes,
  waiting,
  talking,
  system,
  otherMachines,
].flatMap(words);

/**
 * Every call that is never allowed, in any form, by name. Some engines forget with which error all others are to fail; told
 * of a call itself they remember.
 */
export const deniedCalls: readonly string[] = words(`
_sysctl acct add_key adjtimex afs_syscall bpf clock_adjtime clock_settime create_module delete_module fanotify_init
fanotify_mark finit_module fsconfig fsmount fsopen fspick get_kernel_syms get_mempolicy getpmsg init_module
io_uring_enter io_uring_register io_uring_setup ioperm iopl kcmp kexec_file_load kexec_load keyctl listmount
lookup_dcookie lsm_set_self_attr mbind memfd_secret migrate_pages modify_ldt mount mount_setattr move_mount move_pages
name_to_handle_at nfsservctl open_by_handle_at open_tree open_tree_attr perf_event_open pidfd_getfd pivot_root putpmsg
query_module quotactl quotactl_fd reboot request_key security set_mempolicy set_mempolicy_home_node setdomainname
sethostname setns settimeofday statmount swapoff swapon sysfs syslog tuxcall umount umount2 uselib userfaultfd ustat
vhangup vserver
`);

interface Rule {
  readonly names: readonly string[];
  readonly action: 'SCMP_ACT_ALLOW' | 'SCMP_ACT_ERRNO';
  readonly errnoRet?: number;
  readonly args?: readonly {
    readonly index: number;
    readonly value: number;
    readonly valueTwo?: number;
    readonly op: 'SCMP_CMP_EQ' | 'SCMP_CMP_MASKED_EQ';
  }[];
}

/** The filter in the form of the OCI runtime specification, which every runtime and engine reads. */
export interface SeccompProfile {
  readonly defaultAction: 'SCMP_ACT_ERRNO';
  readonly defaultErrnoRet: number;
  readonly architectures: readonly string[];
  readonly syscalls: readonly Rule[];
}

/** Only the machine's own: calls in the form of another, 32-bit ones above all, end the thread that makes them. */
const architectures: Partial<Record<NodeJS.Architecture, string>> = {
  x64: 'SCMP_ARCH_X86_64',
  arm64: 'SCMP_ARCH_AARCH64',
};

/** With `listed`, each call that is never allowed has a rule of its own. */
export function seccompProfile(machine: NodeJS.Architecture = process.arch, listed = false): SeccompProfile {
  const architecture = architectures[machine];
  return {
    defaultAction: 'SCMP_ACT_ERRNO',
    defaultErrnoRet: deniedErrno,
    architectures: architecture === undefined ? [] : [architecture],
    syscalls: [
      allow(allowedCalls),
      ...[unix, inet, inet6].map((family) => allow(['socket'], [0, family])),
      allow(['socket'], [0, netlink], [2, netlinkRoute]),
      allow(['socketpair'], [0, unix]),
      ...personalities.map((persona) => allow(['personality'], [0, persona])),
      withoutNamespaces('clone'),
      withoutNamespaces('unshare'),
      // Its flags lie in memory, where a filter cannot look: programs are sent to `clone`.
      { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
      // Programs that tell the kernel's audit of what they do, as `useradd` does, go on where there is none and else give up.
      { ...allow(['socket'], [0, netlink], [2, netlinkAudit]), action: 'SCMP_ACT_ERRNO', errnoRet: EPROTONOSUPPORT },
      ...(listed ? [{ names: deniedCalls, action: 'SCMP_ACT_ERRNO', errnoRet: deniedErrno } as const] : []),
    ],
  };
}

function allow(names: readonly string[], ...args: readonly (readonly [index: number, value: number])[]): Rule {
  const action = 'SCMP_ACT_ALLOW';
  if (args.length === 0) return { names, action };
  return { names, action, args: args.map(([index, value]) => ({ index, value, op: 'SCMP_CMP_EQ' })) };
}

function withoutNamespaces(name: string): Rule {
  const args = [{ index: 0, value: namespaceFlags, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }] as const;
  return { names: [name], action: 'SCMP_ACT_ALLOW', args };
}
