/* file.read: opened here, with the user's permission; the guest streams it (guest/file-reader.c). */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "entry.h"

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
  reply_file(fd, message_uint(params, CAISSON_TAG_FILE_READ_OFFSET, 0), length, &w);
  close(fd);
}
