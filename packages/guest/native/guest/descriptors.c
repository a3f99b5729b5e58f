#include "descriptors.h"

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Four for each kept process and one for each channel, with room to spare. */
enum { wanted = 65536 };

static struct rlimit before;
static bool raised;

void descriptors_raise(void) {
  if (getrlimit(RLIMIT_NOFILE, &before) != 0 || before.rlim_cur >= wanted) return;
  struct rlimit more = before;
  more.rlim_cur = before.rlim_max < wanted ? before.rlim_max : wanted;
  raised = more.rlim_cur > before.rlim_cur && setrlimit(RLIMIT_NOFILE, &more) == 0;
}

void descriptors_allow(rlim_t most) {
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max < most ? files.rlim_max : most;
  setrlimit(RLIMIT_NOFILE, &files);
}

/* For kernels without close_range, gVisor's above all: tens of thousands of calls would take seconds there. */
static bool close_listed(int first) {
  DIR *list = opendir("/proc/self/fd");
  if (list == NULL) return false;
  for (struct dirent *entry; (entry = readdir(list)) != NULL;) {
    int fd = atoi(entry->d_name);
    if (fd >= first && fd != dirfd(list)) close(fd);
  }
  closedir(list);
  return true;
}

void descriptors_close_from(int first) {
  struct rlimit now = {.rlim_cur = wanted};
  if (syscall(SYS_close_range, first, ~0u, 0) == 0 || close_listed(first)) return;
  getrlimit(RLIMIT_NOFILE, &now);
  for (int fd = first; fd < (int)(now.rlim_cur < wanted ? now.rlim_cur : wanted); fd++) close(fd);
}

const struct rlimit *descriptors_of_children(void) { return raised ? &before : NULL; }
