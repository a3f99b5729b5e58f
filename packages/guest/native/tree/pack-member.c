#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "kept-attributes.h"
#include "pack.h"

/* Unpack mode takes no larger header. */
enum { records_max = 1000 * 1000, buffer_bytes = 256 * 1024 };

/* Not static memory: the other modes of the program keep theirs on few pages. */
static struct {
  uint8_t buffer[buffer_bytes];
  uint8_t header[records_max + 64 * 1024];
  char records[records_max];
  char value[attribute_value_max];
  struct kept_attributes attributes;
} *w;
static size_t buffered;
static uint64_t total, most = UINT64_MAX;
static bool impersonal;
static struct timespec impersonal_time;
static uint32_t impersonal_owner;

void put_limit(uint64_t bytes) {
  most = bytes;
  w = malloc(sizeof *w);
  if (w == NULL) pack_fail(pack_refused, ENOMEM, "no memory");
}

void put_impersonal(uint64_t time) {
  impersonal = true;
  impersonal_time.tv_sec = (time_t)time;
}

void put_owner(uint32_t id) { impersonal_owner = id; }

static void flush(void) {
  for (size_t done = 0; done < buffered;) {
    ssize_t n = write(STDOUT_FILENO, w->buffer + done, buffered - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) pack_fail(pack_refused, errno, "cannot write the archive");
    done += (size_t)n;
  }
  buffered = 0;
}

static void put(const uint8_t *at, size_t size) {
  while (size > 0) {
    if (buffered == buffer_bytes) flush();
    size_t room = buffer_bytes - buffered, n = size < room ? size : room;
    memcpy(w->buffer + buffered, at, n);
    buffered += n;
    at += n;
    size -= n;
  }
}

static void put_zeros(uint64_t size) {
  while (size > 0) {
    if (buffered == buffer_bytes) flush();
    size_t room = buffer_bytes - buffered, n = size < room ? (size_t)size : room;
    memset(w->buffer + buffered, 0, n);
    buffered += n;
    size -= n;
  }
}

static uint64_t padding(uint64_t size) { return (tar_block - size % tar_block) % tar_block; }

/* Before anything of it is written: a file of a tebibyte that holds nothing must not take the time of one that does. */
static void count(uint64_t size) {
  if (size > most || total > most - size) pack_fail(pack_limit, 0, "the archive would be larger than it may be");
  total += size;
}

void put_content(int fd, uint64_t size) {
  count(size + padding(size));
  uint64_t left = size;
  while (left > 0) {
    if (buffered == buffer_bytes) flush();
    size_t room = buffer_bytes - buffered;
    ssize_t n = read(fd, w->buffer + buffered, left < room ? (size_t)left : room);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) pack_fail(pack_refused, errno, "cannot read it");
    if (n == 0) break; /* it became shorter */
    buffered += (size_t)n;
    left -= (uint64_t)n;
  }
  put_zeros(left + padding(size));
}

static size_t add_record(size_t used, const char *key, const void *value, size_t size) {
  if (used + strlen(key) + size + 32 > records_max) pack_fail(pack_untold, 0, "its attributes are too large");
  return used + tar_put_record(w->records + used, key, value, size);
}

/* A `=` would end the name: it is written as GNU tar writes it. */
static void attribute_key(char key[1024], const char *name) {
  char *out = key + sprintf(key, "SCHILY.xattr.");
  for (; *name != 0; name++) {
    if (*name == '=' || *name == '%') out += sprintf(out, "%%%02X", (unsigned)*name);
    else *out++ = *name;
  }
  *out = 0;
}

static size_t add_attributes(size_t used, int fd) {
  if (!kept_attributes_read(fd, &w->attributes)) pack_fail(pack_refused, errno, "cannot read its attributes");
  for (size_t i = 0; i < w->attributes.count; i++) {
    char key[1024];
    ssize_t size = fgetxattr(fd, w->attributes.at[i], w->value, sizeof w->value);
    if (size < 0 && errno == ENODATA) continue;
    if (size < 0) pack_fail(pack_refused, errno, "cannot read an attribute");
    attribute_key(key, w->attributes.at[i]);
    used = add_record(used, key, w->value, (size_t)size);
  }
  return used;
}

/* Whether a part of the path looks like a mark of removal; its last part only with `whole`. */
static bool has_mark(const char *path, bool whole) {
  for (const char *at = path; at != NULL; at = strchr(at, '/')) {
    if (*at == '/') at++;
    if (strncmp(at, ".wh.", 4) == 0 && (whole || strchr(at, '/') != NULL)) return true;
  }
  return false;
}

void put_header(struct tar_member *member, const struct stat *st, int fd) {
  size_t used = 0;
  if (st != NULL) {
    struct timespec changed = impersonal ? impersonal_time : st->st_mtim;
    member->mode = st->st_mode & 07777;
    member->uid = impersonal ? impersonal_owner : st->st_uid;
    member->gid = impersonal ? impersonal_owner : st->st_gid;
    /* Before 1970 there were no such files. */
    member->mtime = changed.tv_sec < 0 ? 0 : changed.tv_sec;
    if (member->mtime > 0 && changed.tv_nsec != 0) {
      char time[40];
      int size = snprintf(time, sizeof time, "%lld.%09ld", (long long)member->mtime, changed.tv_nsec);
      used = add_record(used, "mtime", time, (size_t)size);
    }
    if (has_mark(member->path, true)) used = add_record(used, "CAISSON.literal", "path", 4);
  } else if (has_mark(member->path, false)) {
    used = add_record(used, "CAISSON.literal", "folders", 7);
  }
  if (fd >= 0 && !impersonal) used = add_attributes(used, fd);
  size_t size = tar_encode_with(member, w->records, used, w->header);
  count(size);
  put(w->header, size);
}

void put_end(void) {
  put_zeros(2 * tar_block);
  flush();
}
