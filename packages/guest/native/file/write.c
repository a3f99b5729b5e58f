/*
 * file.write. A replacement is a temporary in the target's directory, renamed when all of it is there: no reader ever
 * sees half of it. A range is written in place.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "directory.h"
#include "entry.h"
#include "temporary.h"

/* To free less than this takes about as long as to start a child for it. */
enum { large_bytes = 8 * 1024 * 1024 };

static bool make_parents(const char *path) {
  char parent[path_bytes];
  bool created;
  strcpy(parent, path);
  char *slash = strrchr(parent, '/');
  if (slash == NULL || slash == parent) return true;
  *slash = 0;
  int error = make_directories(parent, 0755, &created);
  if (error != 0) reply_error(error, parent);
  return error == 0;
}

/* All input to fd from offset on; credit as it is written. 0 or an errno. */
static int copy_input(int fd, off_t offset) {
  struct slice piece;
  while (input_next(&piece)) {
    for (size_t done = 0; done < piece.size;) {
      ssize_t n = pwrite(fd, piece.at + done, piece.size - done, offset);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno;
      done += (size_t)n;
      offset += n;
    }
    reply_taken(piece.size);
  }
  return 0;
}

static void write_range(struct slice params, const char *path) {
  mode_t mode = (mode_t)message_uint(params, CAISSON_TAG_FILE_WRITE_MODE, 0644);
  int flags = O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, fd = open(path, flags);
  bool create = fd < 0 && errno == ENOENT;
  if (create) fd = open(path, flags | O_CREAT, mode);
  /* What a pipe or a socket says that nobody is at the other end of. */
  if (fd < 0 && errno != ENXIO) return reply_error(errno, path);
  struct stat st;
  if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    if (fd >= 0) close(fd);
    return reply_code(CAISSON_ERROR_INVALID_ARGUMENT, EINVAL, "%.400s is not a regular file", path);
  }
  /* The mask of the worker must not take what was asked for. */
  bool exact = create && message_has(params, CAISSON_TAG_FILE_WRITE_MODE);
  int error = exact && fchmod(fd, mode) != 0 ? errno : 0;
  if (error == 0) error = copy_input(fd, (off_t)message_uint(params, CAISSON_TAG_FILE_WRITE_OFFSET, 0));
  if (error == 0 && message_bool(params, CAISSON_TAG_FILE_WRITE_SYNC) && fsync(fd) != 0) error = errno;
  close(fd);
  if (error != 0) return reply_error(error, path);
  reply_entry(path, true);
}

/* Follows symbolic links at the end of the path, so that the file is replaced and not the link. */
static int resolve(char path[path_bytes]) {
  for (int links = 0; links < 40; links++) {
    char target[path_bytes], joined[path_bytes];
    ssize_t size = readlinkat(AT_FDCWD, path, target, sizeof target - 1);
    if (size < 0) return errno == EINVAL || errno == ENOENT ? 0 : errno;
    target[size] = 0;
    char *slash = strrchr(path, '/');
    if (target[0] == '/' || slash == NULL) {
      strcpy(path, target);
      continue;
    }
    int length = snprintf(joined, sizeof joined, "%.*s/%s", (int)(slash - path), path, target);
    if (length < 0 || (size_t)length >= sizeof joined) return ENAMETOOLONG;
    strcpy(path, joined);
  }
  return ELOOP;
}

/* Mode and owner as asked, else those of the file that is replaced. Giving a file away may not be allowed: then only asked-for owners fail. */
static int set_attributes(int fd, struct slice params, const struct stat *old) {
  bool asked = message_has(params, CAISSON_TAG_FILE_WRITE_UID) || message_has(params, CAISSON_TAG_FILE_WRITE_GID);
  uid_t uid = (uid_t)message_uint(params, CAISSON_TAG_FILE_WRITE_UID, old != NULL ? old->st_uid : (uint64_t)-1);
  gid_t gid = (gid_t)message_uint(params, CAISSON_TAG_FILE_WRITE_GID, old != NULL ? old->st_gid : (uint64_t)-1);
  if ((asked || old != NULL) && fchown(fd, uid, gid) != 0 && asked) return errno;
  mode_t mode = (mode_t)message_uint(params, CAISSON_TAG_FILE_WRITE_MODE, old != NULL ? old->st_mode & 07777 : 0644);
  return fchmod(fd, mode) == 0 ? 0 : errno;
}

static void path_of_fd(int fd, char path[32]) { snprintf(path, 32, "/proc/self/fd/%d", fd); }

/*
 * A file to write to. Without a name where the filesystem has that, so that a killed worker leaves nothing behind; then
 * `temporary` is empty, and it gets its name when it is whole. -1 and errno.
 */
static int open_temporary(int directory, char temporary[32]) {
  char path[32];
  int fd = openat(directory, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
  temporary[0] = 0;
  if (fd >= 0) path_of_fd(fd, path);
  if (fd >= 0 && faccessat(AT_FDCWD, path, F_OK, 0) == 0) return fd;
  if (fd >= 0) close(fd); /* without /proc it could not be named */
  temporary_name(temporary);
  fd = openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0) temporary_made(directory, temporary);
  return fd;
}

/* Gives a file without a name one: the target's where that is not taken, else a temporary to rename. */
static int give_name(int fd, int directory, char temporary[32], const char *name, bool create) {
  char path[32];
  path_of_fd(fd, path);
  if (create) return linkat(AT_FDCWD, path, directory, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
  temporary_name(temporary);
  if (linkat(AT_FDCWD, path, directory, temporary, AT_SYMLINK_FOLLOW) != 0) return errno;
  temporary_made(directory, temporary);
  return 0;
}

static int finish(int directory, const char *temporary, const char *name, bool create) {
  if (temporary[0] == 0) return 0;
  if (!create) return renameat(directory, temporary, directory, name) == 0 ? 0 : errno;
  /* linkat fails when the name is there, which a rename would not; the temporary's name goes after it. */
  if (linkat(directory, temporary, directory, name, 0) != 0) return errno;
  unlinkat(directory, temporary, 0);
  return 0;
}

/*
 * The last name of a large file is about to go, and to free its pages takes the kernel as long as writing them. Held by a
 * descriptor it stays until `let_go`. -1 when there is nothing worth it.
 */
static int hold(int directory, const char *name, const struct stat *old) {
  if (old == NULL || old->st_nlink > 1 || old->st_size < large_bytes) return -1;
  return openat(directory, name, O_PATH | O_CLOEXEC | O_NOFOLLOW);
}

/* After the answer, by a child: whoever asks next need not wait for it either. */
static void let_go(int held) {
  if (held < 0) return;
  signal(SIGCHLD, SIG_IGN); /* nobody waits for the child */
  pid_t child = fork();
  if (child != 0) {
    close(held);
    return;
  }
  /* Not the socket: while it is open the guest takes the worker for alive. */
  close(request_socket());
  close(held);
  _exit(0);
}

static void write_whole(struct slice params, char path[path_bytes], bool create) {
  int error = create ? 0 : resolve(path);
  if (error != 0) return reply_error(error, path);
  const char *name;
  int directory = open_parent(path, &name);
  if (directory < 0) return reply_error(errno, path);
  struct stat old;
  bool exists = fstatat(directory, name, &old, AT_SYMLINK_NOFOLLOW) == 0;
  if (exists && (create || !S_ISREG(old.st_mode))) {
    close(directory);
    if (create) return reply_error(EEXIST, path);
    if (S_ISDIR(old.st_mode)) return reply_error(EISDIR, path);
    return reply_code(CAISSON_ERROR_INVALID_ARGUMENT, EINVAL, "%.400s is not a regular file", path);
  }
  char temporary[32];
  int fd = open_temporary(directory, temporary);
  if (fd < 0) {
    error = errno;
    close(directory);
    return reply_error(error, path);
  }
  error = copy_input(fd, 0);
  if (error == 0) error = set_attributes(fd, params, exists ? &old : NULL);
  if (error == 0 && message_bool(params, CAISSON_TAG_FILE_WRITE_SYNC) && fsync(fd) != 0) error = errno;
  if (error == 0 && temporary[0] == 0) error = give_name(fd, directory, temporary, name, create);
  if (close(fd) != 0 && error == 0) error = errno;
  int held = error == 0 ? hold(directory, name, exists ? &old : NULL) : -1;
  if (error == 0) error = finish(directory, temporary, name, create);
  if (error != 0) temporary_discard();
  else temporary_kept();
  struct stat st;
  if (error == 0 && fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0) error = errno;
  close(directory);
  if (error != 0) {
    if (held >= 0) close(held);
    return reply_error(error, path);
  }
  char asked[path_bytes];
  request_path(params, CAISSON_TAG_FILE_WRITE_PATH, asked);
  uint8_t buffer[10 * 1024];
  struct writer w = entry_result(buffer, sizeof buffer, asked, &st);
  reply_result(&w);
  let_go(held);
}

void do_write(struct slice params) {
  char path[path_bytes];
  request_path(params, CAISSON_TAG_FILE_WRITE_PATH, path);
  uint64_t how = message_uint(params, CAISSON_TAG_FILE_WRITE_HOW, 1);
  if (how != CAISSON_FILE_WRITE_HOW_RANGE && message_has(params, CAISSON_TAG_FILE_WRITE_OFFSET))
    return reply_code(CAISSON_ERROR_INVALID_ARGUMENT, EINVAL, "only a range has an offset");
  if (message_bool(params, CAISSON_TAG_FILE_WRITE_PARENTS) && !make_parents(path)) return;
  if (how == CAISSON_FILE_WRITE_HOW_RANGE) write_range(params, path);
  else write_whole(params, path, how == CAISSON_FILE_WRITE_HOW_CREATE);
}
