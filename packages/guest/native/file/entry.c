#include "entry.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../guest/account.h"

static uint8_t kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return CAISSON_ENTRY_KIND_DIRECTORY;
    case S_IFLNK:
      return CAISSON_ENTRY_KIND_SYMLINK;
    case S_IFIFO:
      return CAISSON_ENTRY_KIND_FIFO;
    case S_IFSOCK:
      return CAISSON_ENTRY_KIND_SOCKET;
    case S_IFCHR:
      return CAISSON_ENTRY_KIND_CHARACTER_DEVICE;
    case S_IFBLK:
      return CAISSON_ENTRY_KIND_BLOCK_DEVICE;
    default:
      return CAISSON_ENTRY_KIND_FILE;
  }
}

static int64_t clamp_seconds(int64_t seconds) {
  const int64_t most = (int64_t)1 << 40;
  return seconds > most ? most : seconds < -most ? -most : seconds;
}

void write_entry(struct writer *w, const char *path, const struct stat *st, int directory, const char *name) {
  char owner[33];
  write_bytes(w, CAISSON_TAG_ENTRY_PATH, path, strlen(path));
  write_uint(w, CAISSON_TAG_ENTRY_KIND, kind_of(st->st_mode));
  write_uint(w, CAISSON_TAG_ENTRY_SIZE, st->st_size < 0 ? 0 : (uint64_t)st->st_size);
  write_uint(w, CAISSON_TAG_ENTRY_MODE, st->st_mode & 07777);
  write_uint(w, CAISSON_TAG_ENTRY_UID, st->st_uid > 4294967294u ? 4294967294u : st->st_uid);
  write_uint(w, CAISSON_TAG_ENTRY_GID, st->st_gid > 4294967294u ? 4294967294u : st->st_gid);
  if (account_name_of_uid(st->st_uid, owner)) write_text_cut(w, CAISSON_TAG_ENTRY_OWNER, owner, 32);
  if (account_name_of_gid(st->st_gid, owner)) write_text_cut(w, CAISSON_TAG_ENTRY_GROUP, owner, 32);
  write_int(w, CAISSON_TAG_ENTRY_MTIME_SECONDS, clamp_seconds(st->st_mtim.tv_sec));
  write_uint(w, CAISSON_TAG_ENTRY_MTIME_NANOSECONDS, (uint64_t)st->st_mtim.tv_nsec);
  if (!S_ISLNK(st->st_mode)) return;
  char target[path_bytes];
  ssize_t size = readlinkat(directory, name, target, sizeof target - 1);
  if (size >= 0) write_bytes(w, CAISSON_TAG_ENTRY_TARGET, target, (size_t)size);
}

struct writer entry_result(uint8_t *buffer, size_t size, const char *path, const struct stat *st) {
  struct writer w = writer_on(buffer, size);
  size_t begin = write_begin(&w, CAISSON_TAG_ENTRY_RESULT_ENTRY);
  write_entry(&w, path, st, AT_FDCWD, path);
  write_end(&w, begin);
  return w;
}

void reply_entry(const char *path, bool follow) {
  struct stat st;
  if (fstatat(AT_FDCWD, path, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) != 0) return reply_error(errno, path);
  uint8_t buffer[10 * 1024];
  struct writer w = entry_result(buffer, sizeof buffer, path, &st);
  reply_result(&w);
}

void do_stat(struct slice params) {
  char path[path_bytes];
  request_path(params, CAISSON_TAG_FILE_STAT_PATH, path);
  reply_entry(path, message_bool(params, CAISSON_TAG_FILE_STAT_FOLLOW));
}
