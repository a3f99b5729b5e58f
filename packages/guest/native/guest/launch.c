/*
 * The child between clone and exec.
 *
 * It shares the guest's memory and has only its stack, descriptors and credentials to itself: a copy of the page tables
 * would cost a short command a sixth of its life. Not vfork: after setuid the child belongs to the user, who could stop
 * it with a signal, and a vfork'ed guest would wait for ever.
 *
 * Laws of the shared time
 * - The child writes to its launch and nowhere else, and calls nothing of libc that knows errno, locks or memory.
 * - The launch lives until the exec pipe ends: the kernel takes a task's memory from it before its descriptors, both in
 *   exec and in exit, so from then on nobody stands on that stack.
 * - The guest is not dumpable, so nobody inside can trace the child and through it the guest.
 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "descriptors.h"
#include "raw-call.h"

static const char default_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/* Commands mostly come one at a time: the next finds its pages where the last one left them. */
enum { page = 4096 };
static union {
  struct launch launch;
  uint8_t pages[(sizeof(struct launch) + page - 1) / page * page];
} spare __attribute__((aligned(4096)));

_Static_assert(sizeof spare % page == 0, "a page that is given back must hold nothing else");

static bool spare_taken;

struct launch *launch_take(void) {
  struct launch *launch = &spare.launch;
  if (spare_taken) launch = malloc(sizeof *launch);
  else spare_taken = true;
  if (launch == NULL) return NULL;
  launch->argv = launch->env = NULL;
  launch->error = 0;
  return launch;
}

void launch_give(struct launch *launch) {
  if (launch == NULL) return;
  if (launch->argv != launch->room) free(launch->argv);
  if (launch == &spare.launch) spare_taken = false;
  else free(launch);
}

void launch_trim(void) {
  if (!spare_taken) madvise(&spare, sizeof spare, MADV_DONTNEED);
}

__attribute__((noreturn)) static void fail(struct launch *l, int error) {
  l->error = error;
  /* Where the memory is not shared the pipe tells it; where it is, this says the same once more. */
  raw_call(SYS_write, l->error_fd, (long)&error, sizeof error, 0);
  for (;;) raw_call(SYS_exit_group, 127, 0, 0, 0);
}

static const char *path_of(char **env) {
  for (; *env != NULL; env++)
    if (strncmp(*env, "PATH=", 5) == 0) return *env + 5;
  return default_path;
}

static int run(const char *path, const struct launch *l) {
  return (int)-raw_call(SYS_execve, (long)path, (long)l->argv, (long)l->env, 0);
}

/* As execvp does, with the PATH the program will see: the most telling error wins over "not there". */
static int search_and_run(const struct launch *l) {
  const char *name = l->argv[0];
  if (strchr(name, '/') != NULL) return run(name, l);
  int result = ENOENT;
  size_t length = strlen(name);
  if (length == 0) return ENOENT;
  for (const char *at = path_of(l->env); at != NULL;) {
    const char *colon = strchr(at, ':');
    size_t size = colon == NULL ? strlen(at) : (size_t)(colon - at);
    char full[4096];
    if (size + length + 2 <= sizeof full) {
      memcpy(full, at, size);
      if (size > 0) full[size++] = '/';
      memcpy(full + size, name, length + 1);
      int error = run(full, l);
      if (error != ENOENT && error != ENOTDIR && (error != EACCES || result == ENOENT)) result = error;
      if (error != ENOENT && error != ENOTDIR && error != EACCES) return error;
    }
    at = colon == NULL ? NULL : colon + 1;
  }
  return result;
}

static int place_descriptors(const struct launch *l) {
  long fds[3];
  /* Above the places they go to first, or one could overwrite another. */
  for (int i = 0; i < 3; i++) {
    fds[i] = raw_call(SYS_fcntl, l->fds[i], F_DUPFD_CLOEXEC, 3, 0);
    if (fds[i] < 0) return (int)-fds[i];
  }
  for (int i = 0; i < 3; i++) {
    long done = raw_call(SYS_dup3, fds[i], i, 0, 0);
    if (done < 0) return (int)-done;
  }
  return 0;
}

const char *launch_directory;

static long enter_directory(const struct launch *l) {
  if (l->cwd[0] != 0) return raw_call(SYS_chdir, (long)l->cwd, 0, 0, 0);
  if (launch_directory != NULL && raw_call(SYS_chdir, (long)launch_directory, 0, 0, 0) == 0) return 0;
  if (raw_call(SYS_chdir, (long)l->account.home, 0, 0, 0) == 0) return 0;
  return raw_call(SYS_chdir, (long)"/", 0, 0, 0);
}

static void reset_signals(void) {
  enum { kernel_set_bytes = 8 };
  /* Zero is the default action, and an empty set, whatever the machine's layout. The two that the guest ignores: an
   * ignored signal would stay so through exec. */
  static const uint64_t zeros[8];
  raw_call(SYS_rt_sigaction, SIGPIPE, (long)zeros, 0, kernel_set_bytes);
  raw_call(SYS_rt_sigaction, SIGHUP, (long)zeros, 0, kernel_set_bytes);
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)zeros, 0, kernel_set_bytes);
}

static int launch_run(void *given) {
  struct launch *l = given;
  reset_signals();
  const struct rlimit *files = descriptors_of_children();
  if (files != NULL) raw_call(SYS_prlimit64, 0, RLIMIT_NOFILE, (long)files, 0);
  /*
   * A group of its own, so that signals reach all of it. A session only where a terminal needs one: with autogroups the
   * kernel makes a scheduling group for each session, which costs a short command a tenth of its life.
   */
  if (l->pty) {
    raw_call(SYS_setsid, 0, 0, 0, 0);
    raw_call(SYS_ioctl, l->fds[0], TIOCSCTTY, 0, 0);
  } else {
    raw_call(SYS_setpgid, 0, 0, 0, 0);
  }
  int error = place_descriptors(l);
  if (error == 0) error = account_become(&l->account);
  if (error == 0) {
    error = (int)-enter_directory(l);
    if (error != 0) error |= launch_not_entered;
  }
  if (error == 0) {
    raw_call(SYS_umask, 022, 0, 0, 0);
    error = search_and_run(l);
  }
  fail(l, error);
}

pid_t launch_start(struct launch *l) {
#ifndef CAISSON_PLAIN_FORK /* what valgrind knows */
  pid_t pid = clone(launch_run, l->stack + sizeof l->stack, CLONE_VM | SIGCHLD, l);
  if (pid >= 0 || (errno != EINVAL && errno != ENOSYS && errno != EPERM)) return pid;
#endif
  pid_t forked = fork();
  if (forked == 0) launch_run(l);
  return forked;
}
