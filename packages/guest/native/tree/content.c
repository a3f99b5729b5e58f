#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "copy.h"

/* As the kernel's headers have them, which musl does not bring. */
enum { clone_file = 0x40049409, names_max = 65536, value_max = 65536, buffer_bytes = 256 * 1024 };
#ifndef SEEK_DATA
enum { SEEK_DATA = 3, SEEK_HOLE = 4 };
#endif

static char *buffer, *names, *value;

bool copy_prepare(void) {
  buffer = malloc(buffer_bytes);
  names = malloc(names_max);
  value = malloc(value_max);
  return buffer != NULL && names != NULL && value != NULL;
}

static int copy_piece(int from, int to, off_t at, off_t end) {
  while (at < end) {
    size_t wanted = end - at < buffer_bytes ? (size_t)(end - at) : buffer_bytes;
    ssize_t n = pread(from, buffer, wanted, at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return (int)n; /* it became shorter */
    for (ssize_t done = 0; done < n;) {
      ssize_t written = pwrite(to, buffer + done, (size_t)(n - done), at + done);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return -1;
      done += written;
    }
    at += n;
  }
  return 0;
}

int copy_content(int from, int to, off_t size) {
  if (size == 0) return 0;
  if (ioctl(to, clone_file, from) == 0) return ftruncate(to, size);
  for (off_t at = 0; at < size;) {
    off_t data = lseek(from, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break; /* only a hole is left */
    if (data < 0) data = at;
    off_t hole = lseek(from, data, SEEK_HOLE);
    if (hole < 0 || hole > size) hole = size;
    if (data < hole && copy_piece(from, to, data, hole) != 0) return -1;
    if (hole <= at) break;
    at = hole;
  }
  return ftruncate(to, size);
}

struct place {
  int fd;
  const char *path; /* instead of the descriptor, when it is given */
};

static ssize_t list_names(struct place p) {
  return p.path != NULL ? llistxattr(p.path, names, names_max) : flistxattr(p.fd, names, names_max);
}

static int copy_attributes(struct place from, struct place to) {
  ssize_t size = list_names(from);
  if (size < 0) return errno == ENOTSUP ? 0 : -1;
  for (const char *name = names; name < names + size; name += strlen(name) + 1) {
    ssize_t n = from.path != NULL ? lgetxattr(from.path, name, value, value_max) : fgetxattr(from.fd, name, value, value_max);
    if (n < 0 && errno == ENODATA) continue;
    if (n < 0) return -1;
    int failed = to.path != NULL ? lsetxattr(to.path, name, value, (size_t)n, 0) : fsetxattr(to.fd, name, value, (size_t)n, 0);
    if (failed != 0) return -1;
  }
  return 0;
}

int copy_attributes_of_file(int from, int to) { return copy_attributes((struct place){from, NULL}, (struct place){to, NULL}); }

/* Of what must not be opened. The first part of the path is the descriptor of its directory; the last is not followed. */
int copy_attributes_of_name(int from_directory, int to_directory, const char *name) {
  char from[320], to[320];
  snprintf(from, sizeof from, "/proc/self/fd/%d/%s", from_directory, name);
  snprintf(to, sizeof to, "/proc/self/fd/%d/%s", to_directory, name);
  return copy_attributes((struct place){-1, from}, (struct place){-1, to});
}
