/*
 * The child between fork and exec. It has a copy of the guest's memory and may use all of it, but whatever goes wrong is
 * told through error_fd, and then it is over. A plain fork and not vfork: after setuid the child belongs to the user, who
 * could stop it with a signal, and a vfork'ed parent would wait for ever. Measured, the two cost the same here.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "account.h"
#include "process.h"

static const char default_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

static void fail(int fd, int error) {
  (void)!write(fd, &error, sizeof error);
  _exit(127);
}

static const char *path_of(char **env) {
  for (; *env != NULL; env++)
    if (strncmp(*env, "PATH=", 5) == 0) return *env + 5;
  return default_path;
}

/* As execvp does, with the PATH the program will see: the most telling error wins over "not there". */
static int search_and_run(const struct launch *l) {
  const char *name = l->argv[0];
  if (strchr(name, '/') != NULL) {
    execve(name, l->argv, l->env);
    return errno;
  }
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
      execve(full, l->argv, l->env);
      if (errno != ENOENT && errno != ENOTDIR && (errno != EACCES || result == ENOENT)) result = errno;
      if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) return errno;
    }
    at = colon == NULL ? NULL : colon + 1;
  }
  return result;
}

/* The kernel should take a program before the guest when memory runs out; lowering our own score is not allowed. */
static void raise_oom_score(void) {
  int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  (void)!write(fd, "200", 3);
  close(fd);
}

static int place_descriptors(const struct launch *l) {
  int fds[3];
  /* Above the places they go to first, or one could overwrite another. */
  for (int i = 0; i < 3; i++) {
    fds[i] = fcntl(l->fds[i], F_DUPFD_CLOEXEC, 3);
    if (fds[i] < 0) return errno;
  }
  for (int i = 0; i < 3; i++)
    if (dup2(fds[i], i) < 0) return errno;
  return 0;
}

const char *launch_directory;

static bool begin_somewhere(const char *home) {
  if (launch_directory != NULL && chdir(launch_directory) == 0) return true;
  return chdir(home) == 0 || chdir("/") == 0;
}

void launch_run(const struct launch *l) {
  /* The two that the guest ignores; an ignored signal would stay so through exec. */
  signal(SIGPIPE, SIG_DFL);
  signal(SIGHUP, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  raise_oom_score();
  /*
   * A group of its own, so that signals reach all of it. A session only where a terminal needs one: with autogroups the
   * kernel makes a scheduling group for each session, which costs a short command a tenth of its life.
   */
  if (l->pty) {
    setsid();
    ioctl(l->fds[0], TIOCSCTTY, 0);
  } else {
    setpgid(0, 0);
  }
  int error = place_descriptors(l);
  if (error == 0) error = account_become(l->account);
  if (error == 0 && l->cwd != NULL && chdir(l->cwd) != 0) error = errno;
  if (error == 0 && l->cwd == NULL && !begin_somewhere(l->account->home)) error = errno;
  if (error == 0) {
    umask(022);
    error = search_and_run(l);
  }
  fail(l->error_fd, error);
  _exit(127);
}
