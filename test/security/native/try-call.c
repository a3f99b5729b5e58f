/*
 * try-call NAME…: makes each named call of the kernel in a process of its own, and writes a line for each: its name and
 * what came of it: the number of the error, `allowed`, or `killed SIGNAL`. The arguments are as harmless as they can be;
 * what must be denied is denied before the kernel looks at them.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Named by number where a C library may be older than the call. */
struct call {
  const char *name;
  long number, arguments[6];
};

static char empty[4096];
#define AT ((long)empty)
/* Eight bytes of this program, which lies where the guest does not care. */
static struct iovec here = {empty, 8};
#define PIECE ((long)&here)

static const struct call calls[] = {
  {"mount", SYS_mount, {AT, (long)"/", AT, 0, 0}},
  {"umount2", SYS_umount2, {(long)"/proc", 0}},
  {"pivot_root", SYS_pivot_root, {(long)"/", (long)"/"}},
  {"setns", SYS_setns, {-1, 0}},
  {"open_tree", 428, {-100, (long)"/", 1}},
  {"move_mount", 429, {-1, AT, -1, AT, 4}},
  {"fsopen", 430, {(long)"tmpfs", 0}},
  {"fsconfig", 431, {-1}},
  {"fsmount", 432, {-1}},
  {"fspick", 433, {-100, (long)"/", 0}},
  {"mount_setattr", 442, {-100, (long)"/", 0, AT, 32}},
  {"unshare-mount", SYS_unshare, {0x00020000}},
  {"unshare-cgroup", SYS_unshare, {0x02000000}},
  {"unshare-uts", SYS_unshare, {0x04000000}},
  {"unshare-ipc", SYS_unshare, {0x08000000}},
  {"unshare-user", SYS_unshare, {0x10000000}},
  {"unshare-pid", SYS_unshare, {0x20000000}},
  {"unshare-network", SYS_unshare, {0x40000000}},
  {"unshare-time", SYS_unshare, {0x00000080}},
  {"clone-mount", SYS_clone, {0x00020000 | SIGCHLD}},
  {"clone-cgroup", SYS_clone, {0x02000000 | SIGCHLD}},
  {"clone-uts", SYS_clone, {0x04000000 | SIGCHLD}},
  {"clone-ipc", SYS_clone, {0x08000000 | SIGCHLD}},
  {"clone-user", SYS_clone, {0x10000000 | SIGCHLD}},
  {"clone-pid", SYS_clone, {0x20000000 | SIGCHLD}},
  {"clone-network", SYS_clone, {0x40000000 | SIGCHLD}},
  {"clone3", 435, {AT, 88}},
  {"bpf", SYS_bpf, {0, AT, 64}},
  {"io_uring_setup", 425, {1, AT}},
  {"io_uring_enter", 426, {-1}},
  {"io_uring_register", 427, {-1}},
  {"keyctl", SYS_keyctl, {0, -3, 0}},
  {"add_key", SYS_add_key, {(long)"user", (long)"x", AT, 1, -3}},
  {"request_key", SYS_request_key, {(long)"user", (long)"x", 0, 0}},
  {"userfaultfd", SYS_userfaultfd, {1}},
  {"perf_event_open", SYS_perf_event_open, {AT, 0, -1, -1, 0}},
  {"kexec_load", SYS_kexec_load, {0, 0, 0, 0}},
  {"kexec_file_load", SYS_kexec_file_load, {-1, -1, 0, 0, 0}},
  {"init_module", SYS_init_module, {AT, 0, AT}},
  {"finit_module", SYS_finit_module, {-1, AT, 0}},
  {"delete_module", SYS_delete_module, {(long)"none", 0}},
  {"open_by_handle_at", SYS_open_by_handle_at, {-100, AT, 0}},
  {"name_to_handle_at", SYS_name_to_handle_at, {-100, (long)"/", AT, AT, 0}},
  {"quotactl", SYS_quotactl, {0, AT, 0, AT}},
  {"quotactl_fd", 443, {-1, 0, 0, AT}},
  {"swapon", SYS_swapon, {(long)"/none", 0}},
  {"swapoff", SYS_swapoff, {(long)"/none"}},
  {"reboot", SYS_reboot, {0, 0, 0, 0}},
  {"sethostname", SYS_sethostname, {(long)"x", 1}},
  {"setdomainname", SYS_setdomainname, {(long)"x", 1}},
  {"settimeofday", SYS_settimeofday, {0, 0}},
  {"clock_settime", SYS_clock_settime, {0, 0}},
  {"clock_adjtime", SYS_clock_adjtime, {0, 0}},
  {"adjtimex", SYS_adjtimex, {0}},
  {"acct", SYS_acct, {0}},
  {"syslog", SYS_syslog, {10, 0, 0}},
  {"vhangup", SYS_vhangup, {0}},
  {"fanotify_init", SYS_fanotify_init, {0, 0}},
  {"pidfd_getfd", 438, {-1, 0, 0}},
  {"kcmp", SYS_kcmp, {1, 1, 0, 0, 0}},
  {"mbind", SYS_mbind, {0}},
  {"migrate_pages", SYS_migrate_pages, {0}},
  {"personality-read-implies-exec", SYS_personality, {0x0400000}},
  {"personality-old-addresses", SYS_personality, {0x0200000}},
  {"socket-alg", SYS_socket, {38, SOCK_SEQPACKET, 0}},
  {"socket-vsock", SYS_socket, {40, SOCK_STREAM, 0}},
  {"socket-packet", SYS_socket, {17, SOCK_RAW, 0}},
  {"socket-key", SYS_socket, {15, SOCK_RAW, 2}},
  {"socket-bluetooth", SYS_socket, {31, SOCK_RAW, 1}},
  {"socket-can", SYS_socket, {29, SOCK_RAW, 1}},
  {"socket-xdp", SYS_socket, {44, SOCK_RAW, 0}},
  {"socket-tipc", SYS_socket, {30, SOCK_SEQPACKET, 0}},
  {"socket-high-bits", SYS_socket, {0x100000028, SOCK_STREAM, 0}},
  {"netlink-route", SYS_socket, {16, SOCK_RAW, 0}},
  {"netlink-usersock", SYS_socket, {16, SOCK_RAW, 2}},
  {"netlink-audit", SYS_socket, {16, SOCK_RAW, 9}},
  {"netlink-netfilter", SYS_socket, {16, SOCK_RAW, 12}},
  {"netlink-uevent", SYS_socket, {16, SOCK_RAW, 15}},
  {"netlink-generic", SYS_socket, {16, SOCK_RAW, 16}},
  {"netlink-crypto", SYS_socket, {16, SOCK_RAW, 21}},
  {"socketpair-inet", SYS_socketpair, {2, SOCK_STREAM, 0, AT}},
  {"socket-raw-icmp", SYS_socket, {2, SOCK_RAW, 1}},
  {"socket-raw-all", SYS_socket, {2, SOCK_RAW, 255}},
  {"socket-raw-six", SYS_socket, {10, SOCK_RAW, 58}},
  {"socket-tcp", SYS_socket, {2, SOCK_STREAM, 0}},
  {"mknod-memory", SYS_mknod, {(long)"/tmp/try-node", S_IFCHR | 0666, 0x0101}},
  {"mknod-null", SYS_mknod, {(long)"/tmp/try-node", S_IFCHR | 0666, 0x0103}},
  {"mknod-disk", SYS_mknod, {(long)"/tmp/try-node", S_IFBLK | 0666, 0xfe00}},
  {"mknod-loop", SYS_mknod, {(long)"/tmp/try-node", S_IFBLK | 0666, 0x0700}},
  {"mknod-in-dev", SYS_mknod, {(long)"/dev/try-node", S_IFCHR | 0666, 0x0101}},
  {"ptrace-guest", SYS_ptrace, {PTRACE_ATTACH, 1, 0, 0}},
  {"ptrace-seize-guest", SYS_ptrace, {0x4206, 1, 0, 0}},
  {"read-guest-memory", SYS_process_vm_readv, {1, PIECE, 1, PIECE, 1, 0}},
  {"trusted-attribute", SYS_setxattr, {(long)"/tmp", (long)"trusted.overlay.opaque", (long)"y", 1, 0}},
#ifdef __x86_64__
  {"iopl", SYS_iopl, {3}},
  {"ioperm", SYS_ioperm, {0, 1, 1}},
  {"modify_ldt", SYS_modify_ldt, {0, AT, 16}},
  {"x32-getpid", 0x40000000 + SYS_getpid, {0}},
  {"x32-open_by_handle_at", 0x40000000 + SYS_open_by_handle_at, {-100, AT, 0}},
#endif
};

static long perform(const struct call *c) {
  const long *a = c->arguments;
  return syscall(c->number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#ifdef __x86_64__
/* getpid in the form of a 32-bit program. */
static long interrupt_80(void) {
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "r8", "r9", "r10", "r11", "memory");
  return result;
}
#endif

static void try(const char *name) {
  fflush(stdout);
  int answer[2], status, error = -1;
  if (pipe(answer) != 0) exit(1);
  pid_t pid = fork();
  if (pid == 0) {
    long result = -1;
    errno = 9999;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
      if (strcmp(calls[i].name, name) == 0) result = perform(&calls[i]);
#ifdef __x86_64__
    if (strcmp(name, "int80-getpid") == 0) result = interrupt_80();
#endif
    int found = result >= 0 ? 0 : errno;
    (void)!write(answer[1], &found, sizeof found);
    _exit(0);
  }
  close(answer[1]);
  if (read(answer[0], &error, sizeof error) != (ssize_t)sizeof error) error = -1;
  close(answer[0]);
  waitpid(pid, &status, 0);
  if (WIFSIGNALED(status)) printf("%s killed %d\n", name, WTERMSIG(status));
  else if (error == 0) printf("%s allowed\n", name);
  else printf("%s %d\n", name, error);
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) try(argv[i]);
  return 0;
}
