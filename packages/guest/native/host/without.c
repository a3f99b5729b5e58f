/*
 * Runs a program in a mount namespace of its own from which one mount is taken away: nobody but this one call misses it.
 * One process for what would be three, and none that reads the table of mounts, which has some of every sandbox.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "host.h"

static int failed(const char *what) {
  fprintf(stderr, "caisson-guest without: %s: %s\n", what, strerror(errno));
  return 1;
}

int without_main(int argc, char **argv) {
  if (argc < 2) return 2;
  if (unshare(CLONE_NEWNS) != 0) return failed("unshare");
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return failed("the mounts");
  if (umount2(argv[0], UMOUNT_NOFOLLOW) != 0) return failed(argv[0]);
  execv(argv[1], argv + 1);
  return failed(argv[1]);
}
