/* file.tar_out: a tree as an archive. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "glob.h"
#include "tar.h"
#include "walk.h"

enum { buffer_bytes = 64 * 1024, globs_max = 256 };

struct archive {
  struct walk walk;
  char *exclude[globs_max];
  size_t exclude_count;
  uint64_t entries, bytes;
  size_t used;
  uint8_t buffer[buffer_bytes];
};

static struct archive archive;

static void flush(void) {
  if (archive.used > 0) reply_data(archive.buffer, archive.used);
  archive.used = 0;
}

static void put(const uint8_t *at, size_t size) {
  archive.bytes += size;
  while (size > 0) {
    size_t n = buffer_bytes - archive.used < size ? buffer_bytes - archive.used : size;
    memcpy(archive.buffer + archive.used, at, n);
    archive.used += n;
    at += n;
    size -= n;
    if (archive.used == buffer_bytes) flush();
  }
}

static void put_zeros(uint64_t size) {
  static uint8_t zeros[4096]; /* not const: that would be a page of the program, which every guest would hold */
  while (size > 0) {
    size_t n = size < sizeof zeros ? (size_t)size : sizeof zeros;
    put(zeros, n);
    size -= n;
  }
}

/* Exactly as many bytes as the header said: a file that shrank meanwhile ends in zeros, one that grew is cut. */
static void put_content(int fd, uint64_t size) {
  uint64_t left = size;
  while (left > 0) {
    if (archive.used == buffer_bytes) flush();
    size_t room = buffer_bytes - archive.used;
    ssize_t n = read(fd, archive.buffer + archive.used, left < room ? (size_t)left : room);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    archive.used += (size_t)n;
    archive.bytes += (uint64_t)n;
    left -= (uint64_t)n;
  }
  put_zeros(left + (tar_block - size % tar_block) % tar_block);
}

static bool describe(struct tar_member *m, int directory, const char *name, const char *path, const struct stat *st) {
  memset(m, 0, sizeof *m);
  if (strlen(path) + 2 > sizeof m->path) return false;
  strcpy(m->path, path);
  m->mode = st->st_mode & 07777;
  m->uid = st->st_uid;
  m->gid = st->st_gid;
  m->mtime = st->st_mtim.tv_sec;
  switch (st->st_mode & S_IFMT) {
    case S_IFREG:
      m->type = '0';
      m->size = (uint64_t)st->st_size;
      return true;
    case S_IFDIR:
      m->type = '5';
      strcat(m->path, "/");
      return true;
    case S_IFLNK: {
      m->type = '2';
      ssize_t size = readlinkat(directory, name, m->link, sizeof m->link - 1);
      if (size >= 0) m->link[size] = 0;
      return size >= 0;
    }
    case S_IFCHR:
    case S_IFBLK:
      m->type = S_ISCHR(st->st_mode) ? '3' : '4';
      m->major = (uint32_t)major(st->st_rdev);
      m->minor = (uint32_t)minor(st->st_rdev);
      return true;
    case S_IFIFO:
      m->type = '6';
      return true;
    default:
      return false; /* a socket is nothing without its process */
  }
}

/* Files with several names that went out already, each with its first name. */
enum { names_max = 65536, name_bytes_max = 8 * 1024 * 1024, name_buckets = 4096 };

struct first_name {
  struct first_name *next;
  dev_t device;
  ino_t inode;
  char path[];
};

static struct {
  struct first_name *buckets[name_buckets];
  size_t count, bytes;
} names;

/* The first name of this file, or NULL, and then this is it. Beyond the bounds files go out whole, as if they were two. */
static const char *seen_before(const struct stat *st, const char *path) {
  struct first_name **bucket = &names.buckets[(st->st_ino ^ st->st_dev) % name_buckets];
  for (const struct first_name *one = *bucket; one != NULL; one = one->next)
    if (one->inode == st->st_ino && one->device == st->st_dev) return one->path;
  size_t size = strlen(path) + 1;
  if (names.count == names_max || names.bytes + size > name_bytes_max) return NULL;
  struct first_name *one = malloc(sizeof *one + size);
  if (one == NULL) return NULL;
  *one = (struct first_name){*bucket, st->st_dev, st->st_ino};
  memcpy(one->path, path, size);
  *bucket = one;
  names.count++;
  names.bytes += size;
  return NULL;
}

static void forget_names(void) {
  for (size_t i = 0; i < name_buckets; i++) {
    while (names.buckets[i] != NULL) {
      struct first_name *one = names.buckets[i];
      names.buckets[i] = one->next;
      free(one);
    }
  }
  names.count = names.bytes = 0;
}

static void add(int directory, const char *name, const char *path, const struct stat *found) {
  static struct tar_member member;
  static uint8_t header[32 * tar_block];
  struct stat st = *found;
  int fd = -1;
  if (S_ISREG(st.st_mode)) {
    fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
      if (fd >= 0) close(fd);
      archive.walk.unreadable++;
      return;
    }
  }
  if (describe(&member, directory, name, path, &st)) {
    const char *earlier = st.st_nlink > 1 && fd >= 0 ? seen_before(&st, path) : NULL;
    if (earlier != NULL) {
      member.type = '1';
      member.size = 0;
      strcpy(member.link, earlier);
    }
    put(header, tar_encode(&member, header));
    if (fd >= 0 && earlier == NULL) put_content(fd, member.size);
    archive.entries++;
  }
  if (fd >= 0) close(fd);
}

static enum walk_verdict on_node(struct walk *walk, int directory, const char *name, const char *path,
                                 const struct stat *st) {
  (void)walk;
  for (size_t i = 0; i < archive.exclude_count; i++)
    if (glob_match(archive.exclude[i], path, true)) return WALK_SKIP;
  add(directory, name, path, st);
  return WALK_ON;
}

void do_tar_out(struct slice params) {
  char path[path_bytes];
  request_path(params, CAISSON_TAG_FILE_TAR_OUT_PATH, path);
  memset(&archive, 0, offsetof(struct archive, buffer));
  archive.walk = (struct walk){.hidden = true, .depth = UINT32_MAX, .visit = on_node};
  size_t cursor = 0;
  struct slice glob;
  while (archive.exclude_count < globs_max && message_next(params, CAISSON_TAG_FILE_TAR_OUT_EXCLUDE, &cursor, &glob)) {
    char *copy = strndup((const char *)glob.at, glob.size);
    if (copy != NULL) archive.exclude[archive.exclude_count++] = copy;
  }
  struct stat st;
  int error = fstatat(AT_FDCWD, path, &st, 0) == 0 ? 0 : errno;
  if (error == 0 && S_ISDIR(st.st_mode)) {
    error = walk_tree(&archive.walk, path);
  } else if (error == 0) {
    const char *slash = strrchr(path, '/');
    add(AT_FDCWD, path, slash == NULL ? path : slash + 1, &st);
    if (archive.entries == 0) error = EACCES;
  }
  for (size_t i = 0; i < archive.exclude_count; i++) free(archive.exclude[i]);
  forget_names();
  if (error != 0) return reply_error(error, path);
  put_zeros(2 * tar_block);
  flush();
  uint8_t buffer[64];
  struct writer w = writer_on(buffer, sizeof buffer);
  write_uint(&w, CAISSON_TAG_ARCHIVED_ENTRIES, archive.entries);
  write_uint(&w, CAISSON_TAG_ARCHIVED_BYTES, archive.bytes);
  reply_result(&w);
}
