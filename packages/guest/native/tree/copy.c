#include "copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../guest/descriptors.h"
#include "links.h"

enum {
  /* A kind that changes between being looked at and being opened, this often in a row, is no accident. */
  tries_max = 100,
  /* A descriptor of each side for each level, and a frame of the stack. */
  depth_max = 4000,
  path_bytes = 4096,
  no_follow = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
};

static int root = -1;
/* Not static memory: the other modes of the program keep theirs on few pages. */
static char *path; /* of what is being copied, from the root; cut where it is too long */

__attribute__((noreturn)) static void fail(int error) {
  fprintf(stderr, "copy: %s: %s\n", path == NULL || path[0] == 0 ? "." : path, strerror(error));
  exit(1);
}

static void remember(const struct stat *st) {
  if (st->st_nlink >= 2 && strlen(path) == path_bytes - 1) fail(ENAMETOOLONG);
  if (!links_remember(st, path)) fail(ENOMEM);
}

/* The owner before the mode and the attributes: giving a file away takes those. The times last. */
static void finish_file(int from, int to, const struct stat *st) {
  struct timespec times[2] = {st->st_atim, st->st_mtim};
  if (fchown(to, st->st_uid, st->st_gid) != 0 || fchmod(to, st->st_mode & 07777) != 0) fail(errno);
  if (copy_attributes_of_file(from, to) != 0 || futimens(to, times) != 0) fail(errno);
}

static void finish_name(int from, int to, const char *name, const struct stat *st) {
  struct timespec times[2] = {st->st_atim, st->st_mtim};
  if (fchownat(to, name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) != 0) fail(errno);
  if (!S_ISLNK(st->st_mode) && fchmodat(to, name, st->st_mode & 07777, 0) != 0) fail(errno);
  if (copy_attributes_of_name(from, to, name) != 0 && errno != ENOENT) fail(errno);
  if (utimensat(to, name, times, AT_SYMLINK_NOFOLLOW) != 0) fail(errno);
}

static void copy_directory(int from, int to, int depth);

/* Opens what the look found, and makes sure that it is still that. -1 when it is not. */
static int open_same(int directory, const char *name, struct stat *st, int flags) {
  ino_t inode = st->st_ino;
  int fd = openat(directory, name, flags | no_follow);
  if (fd < 0 && errno != ENOENT && errno != ELOOP && errno != ENOTDIR && errno != ENXIO) fail(errno);
  if (fd < 0) return -1;
  mode_t kind = st->st_mode & S_IFMT;
  if (fstat(fd, st) == 0 && (st->st_mode & S_IFMT) == kind && st->st_ino == inode) return fd;
  close(fd);
  return -1;
}

static bool copy_opened(int from_directory, int to_directory, const char *name, struct stat *st, int depth) {
  bool is_directory = S_ISDIR(st->st_mode);
  int from = open_same(from_directory, name, st, O_RDONLY | (is_directory ? O_DIRECTORY : 0));
  if (from < 0) return false;
  if (is_directory && mkdirat(to_directory, name, 0700) != 0) fail(errno);
  int to = openat(to_directory, name, no_follow | (is_directory ? O_RDONLY | O_DIRECTORY : O_WRONLY | O_CREAT | O_EXCL), 0600);
  if (to < 0) fail(errno);
  if (is_directory) copy_directory(from, to, depth + 1);
  else if (copy_content(from, to, st->st_size) != 0) fail(errno);
  finish_file(from, to, st);
  if (!is_directory) remember(st);
  close(from);
  if (close(to) != 0) fail(errno);
  return true;
}

static bool copy_named(int from, int to, const char *name, const struct stat *st) {
  if (S_ISLNK(st->st_mode)) {
    char target[4097];
    ssize_t size = readlinkat(from, name, target, sizeof target - 1);
    if (size < 0) return false;
    target[size] = 0;
    if (symlinkat(target, to, name) != 0) fail(errno);
  } else {
    bool is_device = S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode);
    /* The one device that an overlay has: it hides a file. No sandbox can make another. */
    if (is_device && (!S_ISCHR(st->st_mode) || st->st_rdev != 0)) fail(EPERM);
    if (mknodat(to, name, st->st_mode, st->st_rdev) != 0) fail(errno);
  }
  finish_name(from, to, name, st);
  remember(st);
  return true;
}

static void copy_entry(int from, int to, const char *name, int depth) {
  for (int tries = 0; tries < tries_max; tries++) {
    struct stat st;
    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) return;
      fail(errno);
    }
    const char *known = links_find(&st);
    if (known != NULL) {
      if (linkat(root, known, to, name, 0) != 0) fail(errno);
      return;
    }
    bool opened = S_ISDIR(st.st_mode) || S_ISREG(st.st_mode);
    if (opened ? copy_opened(from, to, name, &st, depth) : copy_named(from, to, name, &st)) return;
  }
  fail(EBUSY);
}

static void copy_directory(int from, int to, int depth) {
  if (depth > depth_max) fail(ELOOP);
  DIR *directory = fdopendir(dup(from));
  if (directory == NULL) fail(errno);
  size_t length = strlen(path);
  struct dirent *entry;
  while ((errno = 0, entry = readdir(directory)) != NULL) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    snprintf(path + length, path_bytes - length, "%s%s", length == 0 ? "" : "/", entry->d_name);
    copy_entry(from, to, entry->d_name, depth);
    path[length] = 0;
  }
  if (errno != 0) fail(errno);
  closedir(directory);
}

int copy_main(int argc, char **argv) {
  if (argc != 2) return 2;
  descriptors_allow(RLIM_INFINITY);
  umask(0);
  path = calloc(path_bytes, 1);
  if (path == NULL || !links_prepare() || !copy_prepare()) fail(ENOMEM);
  struct stat st;
  int from = open(argv[0], O_RDONLY | O_DIRECTORY | no_follow);
  if (from < 0 || fstat(from, &st) != 0 || mkdir(argv[1], 0700) != 0) fail(errno);
  root = open(argv[1], O_RDONLY | O_DIRECTORY | no_follow);
  if (root < 0) fail(errno);
  copy_directory(from, root, 0);
  finish_file(from, root, &st);
  return 0;
}
