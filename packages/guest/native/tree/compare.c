/* Whether two nodes are equal. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "diff.h"
#include "kept-attributes.h"

/* As the kernel's headers have them, which musl does not bring. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SEEK_DATA
enum { SEEK_DATA = 3 };
#endif
struct how {
  uint64_t flags, mode, resolve;
};
enum { resolve_no_xdev = 0x01, resolve_no_magiclinks = 0x02, resolve_no_symlinks = 0x04, resolve_beneath = 0x08 };
enum { buffer_bytes = 256 * 1024 };

/* Not static memory: the other modes of the program keep theirs on few pages. */
static struct {
  char content[2][buffer_bytes];
  char value[2][attribute_value_max];
  struct kept_attributes attributes[2];
} *w;
static struct timespec deadline;

bool compare_prepare(void) {
  w = malloc(sizeof *w);
  return w != NULL;
}

void compare_deadline(long long milliseconds) {
  clock_gettime(CLOCK_MONOTONIC, &deadline);
  deadline.tv_sec += (time_t)(milliseconds / 1000);
  deadline.tv_nsec += (long)(milliseconds % 1000) * 1000000;
}

bool compare_is_late(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (now.tv_sec - deadline.tv_sec) * 1000000000LL + (now.tv_nsec - deadline.tv_nsec) > 0;
}

int compare_open(int directory, const char *name, bool is_directory) {
  struct how how = {
    .flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | (is_directory ? O_DIRECTORY : 0),
    .resolve = resolve_beneath | resolve_no_symlinks | resolve_no_magiclinks | resolve_no_xdev,
  };
  return (int)syscall(SYS_openat2, directory, name, &how, sizeof how);
}

static bool same_time(struct timespec a, struct timespec b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

/* Nobody in a sandbox can set the time of the last change. */
bool compare_is_untouched(const struct stat *a, const struct stat *b) {
  return a->st_ino == b->st_ino && a->st_size == b->st_size && same_time(a->st_mtim, b->st_mtim) &&
         same_time(a->st_ctim, b->st_ctim);
}

static ssize_t read_at(int fd, char *to, off_t at) {
  size_t used = 0;
  while (used < buffer_bytes) {
    ssize_t n = pread(fd, to + used, buffer_bytes - used, at + (off_t)used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    used += (size_t)n;
  }
  return (ssize_t)used;
}

/* Where the next byte is that may not be zero. */
static off_t next_data(int fd, off_t at, off_t size) {
  off_t data = lseek(fd, at, SEEK_DATA);
  if (data < 0) return errno == ENXIO ? size : at;
  return data;
}

bool compare_content(int a, int b) {
  struct stat of_a, of_b;
  if (fstat(a, &of_a) != 0 || fstat(b, &of_b) != 0 || !S_ISREG(of_a.st_mode) || !S_ISREG(of_b.st_mode)) return false;
  if (of_a.st_size != of_b.st_size) return false;
  for (off_t at = 0; at < of_a.st_size;) {
    /* Where both have a hole there is nothing to read, however large it is. */
    off_t data_a = next_data(a, at, of_a.st_size), data_b = next_data(b, at, of_b.st_size);
    off_t data = data_a < data_b ? data_a : data_b;
    if (data >= of_a.st_size) return true;
    if (data > at) at = data;
    ssize_t n = read_at(a, w->content[0], at), m = read_at(b, w->content[1], at);
    if (n < 0 || n != m || memcmp(w->content[0], w->content[1], (size_t)n) != 0) return false;
    if (n == 0) return true; /* both became shorter */
    at += n;
    if (compare_is_late()) return false;
  }
  return true;
}

bool compare_attributes(int a, int b) {
  if (!kept_attributes_read(a, &w->attributes[0]) || !kept_attributes_read(b, &w->attributes[1])) return false;
  if (w->attributes[0].count != w->attributes[1].count) return false;
  for (size_t i = 0; i < w->attributes[0].count; i++) {
    const char *name = w->attributes[0].at[i];
    if (strcmp(name, w->attributes[1].at[i]) != 0) return false;
    ssize_t n = fgetxattr(a, name, w->value[0], attribute_value_max);
    ssize_t m = fgetxattr(b, name, w->value[1], attribute_value_max);
    if (n < 0 || n != m || memcmp(w->value[0], w->value[1], (size_t)n) != 0) return false;
  }
  return true;
}

bool compare_links(int directory_a, int directory_b, const char *name) {
  ssize_t n = readlinkat(directory_a, name, w->content[0], buffer_bytes);
  ssize_t m = readlinkat(directory_b, name, w->content[1], buffer_bytes);
  return n >= 0 && n == m && memcmp(w->content[0], w->content[1], (size_t)n) == 0;
}
