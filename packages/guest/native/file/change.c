/* file.mkdir, move and symlink; and sys.sync. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "directory.h"
#include "change-mode.h"
#include "entry.h"
#include "temporary.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

void do_mkdir(struct slice params) {
  char path[path_bytes];
  request_path(params, CAISSON_TAG_FILE_MKDIR_PATH, path);
  mode_t mode = (mode_t)message_uint(params, CAISSON_TAG_FILE_MKDIR_MODE, 0755);
  bool created = true;
  int error = 0;
  if (message_bool(params, CAISSON_TAG_FILE_MKDIR_PARENTS)) error = make_directories(path, mode, &created);
  else if (mkdir(path, mode) != 0) error = errno;
  /* The mask of the worker must not take what was asked for. */
  if (error == 0 && created && message_has(params, CAISSON_TAG_FILE_MKDIR_MODE) &&
      change_mode(AT_FDCWD, path, mode) != 0)
    error = errno;
  if (error != 0) return reply_error(error, path);
  uint8_t buffer[16];
  struct writer w = writer_on(buffer, sizeof buffer);
  write_bool(&w, CAISSON_TAG_FILE_MADE_CREATED, created);
  reply_result(&w);
}

void do_move(struct slice params) {
  char from[path_bytes], to[path_bytes];
  request_path(params, CAISSON_TAG_FILE_MOVE_FROM, from);
  request_path(params, CAISSON_TAG_FILE_MOVE_TO, to);
  bool replace = message_bool(params, CAISSON_TAG_FILE_MOVE_REPLACE);
  if (replace ? rename(from, to) != 0
              : syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) != 0)
    return reply_error(errno, from);
  reply_entry(to, false);
}

void do_symlink(struct slice params) {
  char path[path_bytes], target[path_bytes], temporary[32];
  const char *name;
  request_path(params, CAISSON_TAG_FILE_SYMLINK_PATH, path);
  request_path(params, CAISSON_TAG_FILE_SYMLINK_TARGET, target);
  int directory = open_parent(path, &name);
  if (directory < 0) return reply_error(errno, path);
  int error = 0;
  if (!message_bool(params, CAISSON_TAG_FILE_SYMLINK_REPLACE)) {
    if (symlinkat(target, directory, name) != 0) error = errno;
  } else {
    temporary_name(temporary);
    if (symlinkat(target, directory, temporary) != 0) error = errno;
    else if (renameat(directory, temporary, directory, name) != 0) {
      error = errno;
      unlinkat(directory, temporary, 0);
    }
  }
  close(directory);
  if (error != 0) return reply_error(error, path);
  reply_nothing();
}

void do_sync(struct slice params) {
  (void)params;
  int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return reply_error(errno, "/");
  int error = syscall(SYS_syncfs, fd) == 0 ? 0 : errno;
  close(fd);
  if (error != 0) return reply_error(error, "syncfs");
  reply_nothing();
}
