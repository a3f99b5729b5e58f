/* What a child needs on its way from the guest to its program. */
#ifndef CAISSON_LAUNCH_H
#define CAISSON_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../protocol.h"
#include "account.h"

enum { launch_not_entered = 1 << 16 };

struct launch {
  /* First, so that it is aligned: it holds one PATH entry and a page of calls. */
  uint8_t stack[16 * 1024];
  /* One piece of memory, which begins at argv: `room` where it is enough. */
  char **argv, **env;
  char *room[1024];
  char cwd[CAISSON_LIMIT_PATH_MAX + 1]; /* empty: that of the sandbox, or the user's home */
  struct account account;
  int fds[3];
  int error_fd;
  bool pty;
  volatile int error; /* why the program could not be run: an errno, with launch_not_entered when it was its directory */
};

/* A process that names no directory begins in this one. */
extern const char *launch_directory;

struct launch *launch_take(void);
/* Only when the exec pipe has ended, or nothing was started. */
void launch_give(struct launch *launch);
/* The pid, or -1 and errno. */
pid_t launch_start(struct launch *launch);
/* Gives memory back that no launch uses. */
void launch_trim(void);

#endif
