#include "directory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "request.h"

int open_parent(char *path, const char **name) {
  size_t size = strlen(path);
  while (size > 1 && path[size - 1] == '/') path[--size] = 0;
  char *slash = strrchr(path, '/');
  const char *parent = slash == NULL ? "." : slash == path ? "/" : path;
  *name = slash == NULL ? path : slash + 1;
  if (**name == 0 || strcmp(*name, ".") == 0 || strcmp(*name, "..") == 0) {
    errno = EINVAL;
    return -1;
  }
  if (slash != NULL && slash != path) *slash = 0;
  int fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
  int error = errno;
  if (slash != NULL && slash != path) *slash = '/';
  errno = error;
  return fd;
}

int make_directories(const char *path, mode_t mode, bool *created) {
  char copy[path_bytes];
  *created = false;
  strcpy(copy, path); /* both are path_bytes at most */
  if (mkdir(copy, mode) == 0) {
    *created = true;
    return 0;
  }
  if (errno != ENOENT) {
    struct stat st;
    int error = errno;
    if (error == EEXIST && fstatat(AT_FDCWD, copy, &st, 0) == 0) return S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
    return error;
  }
  for (char *slash = copy + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
    *slash = 0;
    if (mkdir(copy, 0755) != 0 && errno != EEXIST) {
      /* A directory that may not be written and is there already answers EACCES or EROFS, not EEXIST. */
      struct stat st;
      int error = errno;
      if (fstatat(AT_FDCWD, copy, &st, 0) != 0 || !S_ISDIR(st.st_mode)) return error;
    }
    *slash = '/';
  }
  if (mkdir(copy, mode) == 0) *created = true;
  else if (errno != EEXIST) return errno;
  return 0;
}
