#include "nothing.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static int null_fd = -1;

void nothing_open(void) {
  enum { memory_major = 1, null_minor = 3 };
  struct stat st;
  int fd = open("/dev/null", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
  if (fd < 0) return;
  if (fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(memory_major, null_minor)) null_fd = fd;
  else close(fd);
}

bool nothing_to_read(int *fd) {
  int ends[2];
  *fd = null_fd < 0 ? -1 : fcntl(null_fd, F_DUPFD_CLOEXEC, 3);
  if (*fd >= 0) return true;
  /* Where the image brings something else by that name: a pipe without a writer is at its end at once. */
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  close(ends[1]);
  *fd = ends[0];
  return true;
}
