/* file.read: opened here, with the user's permission; the guest streams it (guest/file-reader.c) where it never has to wait. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "entry.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x00000008
#endif

/* Whether the filesystem can read what is in memory and say that the rest is not; or has all of it in memory. */
static bool reads_without_waiting(int fd) {
  enum { tmpfs = 0x01021994, ramfs = 0x858458f6 };
  struct statfs system;
  if (fstatfs(fd, &system) == 0 && (system.f_type == tmpfs || system.f_type == (long)ramfs)) return true;
  char byte;
  struct iovec piece = {&byte, 1};
  return syscall(SYS_preadv2, fd, &piece, 1, 0L, 0L, RWF_NOWAIT) >= 0 || errno == EAGAIN;
}

/* The rest of the world's filesystems: whoever reads them may wait, and that must not be the guest. */
static void stream(int fd, uint64_t offset, uint64_t length, const struct writer *result) {
  static uint8_t buffer[64 * 1024];
  reply_result(result);
  while (length > 0) {
    ssize_t n = pread(fd, buffer, length < sizeof buffer ? (size_t)length : sizeof buffer, (off_t)offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return reply_error(errno, "read");
    if (n == 0) break;
    reply_data(buffer, (size_t)n);
    offset += (uint64_t)n;
    length -= (uint64_t)n;
  }
  reply_end();
}

void do_read(struct slice params) {
  char path[path_bytes];
  struct stat st;
  request_path(params, CAISSON_TAG_FILE_READ_PATH, path);
  /* To open a device may do something; it is looked at first, and again when it is open. */
  if (fstatat(AT_FDCWD, path, &st, 0) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
    return reply_code(CAISSON_ERROR_INVALID_ARGUMENT, EINVAL, "%.400s is not a regular file", path);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return reply_error(errno, path);
  if (fstat(fd, &st) != 0) {
    int error = errno;
    close(fd);
    return reply_error(error, path);
  }
  if (!S_ISREG(st.st_mode)) {
    close(fd);
    if (S_ISDIR(st.st_mode)) return reply_error(EISDIR, path);
    return reply_code(CAISSON_ERROR_INVALID_ARGUMENT, EINVAL, "%.400s is not a regular file", path);
  }
  uint64_t length = message_uint(params, CAISSON_TAG_FILE_READ_LENGTH, UINT64_MAX >> 11);
  uint8_t buffer[10 * 1024];
  struct writer w = entry_result(buffer, sizeof buffer, path, &st);
  uint64_t offset = message_uint(params, CAISSON_TAG_FILE_READ_OFFSET, 0);
  if (reads_without_waiting(fd)) reply_file(fd, offset, length, &w);
  else stream(fd, offset, length, &w);
  close(fd);
}
