/*
 * file.tar_in. Each member is made under a temporary name and renamed, so a reader sees the old node or the new one.
 * Every directory on the way is opened by its descriptor without following links: no member leaves the root.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "directory.h"
#include "tar.h"
#include "temporary.h"
#include "change-mode.h"

enum { extended_max = 1024 * 1024 }; /* one pax header or long name */

static struct slice piece;
static size_t piece_at;
static uint64_t total;

/* Up to size bytes of the archive, without copying; 0 at its end. */
static size_t next_bytes(size_t size, const uint8_t **at) {
  while (piece_at == piece.size) {
    if (piece.size > 0) reply_taken(piece.size);
    piece_at = 0;
    piece.size = 0;
    if (!input_next(&piece)) return 0;
  }
  size_t n = piece.size - piece_at < size ? piece.size - piece_at : size;
  *at = piece.at + piece_at;
  piece_at += n;
  total += n;
  return n;
}

static bool read_exactly(uint8_t *to, size_t size) {
  while (size > 0) {
    const uint8_t *at;
    size_t n = next_bytes(size, &at);
    if (n == 0) return false;
    if (to != NULL) {
      memcpy(to, at, n);
      to += n;
    }
    size -= n;
  }
  return true;
}

static bool skip(uint64_t size) {
  while (size > 0) {
    size_t part = size > 65536 ? 65536 : (size_t)size;
    if (!read_exactly(NULL, part)) return false;
    size -= part;
  }
  return true;
}

static uint64_t padding(uint64_t size) { return (tar_block - size % tar_block) % tar_block; }

/* The directory that holds the path's last component, made where it is missing. -1 and errno. */
static int open_parents(int root, char *path, char **name) {
  int directory = fcntl(root, F_DUPFD_CLOEXEC, 0);
  *name = path;
  for (char *slash; directory >= 0 && (slash = strchr(*name, '/')) != NULL; *name = slash + 1) {
    *slash = 0;
    if (mkdirat(directory, *name, 0755) != 0 && errno != EEXIST) {
      int error = errno;
      close(directory);
      errno = error;
      return -1;
    }
    int inner = openat(directory, *name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int error = errno;
    close(directory);
    errno = error;
    directory = inner;
    *slash = '/';
  }
  return directory;
}

static int copy_content(int fd, uint64_t size) {
  while (size > 0) {
    const uint8_t *at;
    size_t n = next_bytes(size > 65536 ? 65536 : (size_t)size, &at);
    if (n == 0) return EIO;
    for (size_t done = 0; done < n;) {
      ssize_t written = write(fd, at + done, n - done);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return errno;
      done += (size_t)written;
    }
    size -= n;
  }
  return 0;
}

static int make_file(int directory, const char *temporary, const struct tar_member *m) {
  int fd = openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return errno;
  temporary_made(directory, temporary);
  int error = copy_content(fd, m->size);
  if (close(fd) != 0 && error == 0) error = errno;
  return error;
}

static int make_link(int root, int directory, const char *temporary, struct tar_member *m) {
  char *name;
  if (!tar_clean_path(m->link) || m->link[0] == 0) return EINVAL;
  int source = open_parents(root, m->link, &name);
  if (source < 0) return errno;
  int error = linkat(source, name, directory, temporary, 0) == 0 ? 0 : errno;
  close(source);
  return error;
}

static int make_directory(int directory, const char *name, const struct tar_member *m) {
  struct stat st;
  if (mkdirat(directory, name, 0700) == 0) return 0;
  if (errno != EEXIST) return errno;
  if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  if (S_ISDIR(st.st_mode)) return 0;
  (void)m;
  /* Whatever stands there, a link above all, is replaced by the archive's directory. */
  if (unlinkat(directory, name, 0) != 0) return errno;
  return mkdirat(directory, name, 0700) == 0 ? 0 : errno;
}

static int set_attributes(int directory, const char *name, const struct tar_member *m, bool keep_owner) {
  if (keep_owner && fchownat(directory, name, m->uid, m->gid, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  /* The name is ours, but in a folder of somebody else's it may be a link by now. */
  if (m->type != '2' && change_mode(directory, name, m->mode) != 0) return errno;
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = m->mtime}};
  utimensat(directory, name, times, AT_SYMLINK_NOFOLLOW);
  return 0;
}

static int make_node(int root, int directory, const char *temporary, struct tar_member *m) {
  switch (m->type) {
    case '0':
    case '7':
      return make_file(directory, temporary, m);
    case '1':
      return make_link(root, directory, temporary, m);
    case '2':
      return symlinkat(m->link, directory, temporary) == 0 ? 0 : errno;
    case '3':
    case '4':
    case '6': {
      mode_t kind = m->type == '3' ? S_IFCHR : m->type == '4' ? S_IFBLK : S_IFIFO;
      return mknodat(directory, temporary, kind | 0600, makedev(m->major, m->minor)) == 0 ? 0 : errno;
    }
    default:
      return ENOTSUP;
  }
}

static int make_member(int root, struct tar_member *m, bool keep_owner) {
  char *name, temporary[32];
  if (!tar_clean_path(m->path)) return EINVAL;
  /* The root itself is there; its mode and owner are its maker's. */
  if (m->path[0] == 0) return 0;
  int directory = open_parents(root, m->path, &name);
  if (directory < 0) return errno;
  int error;
  if (m->type == '5') {
    error = make_directory(directory, name, m);
    if (error == 0) error = set_attributes(directory, name, m, keep_owner);
  } else {
    temporary_name(temporary);
    error = make_node(root, directory, temporary, m);
    if (error == 0) temporary_made(directory, temporary);
    if (error == 0 && m->type != '1') error = set_attributes(directory, temporary, m, keep_owner);
    if (error == 0 && renameat(directory, temporary, directory, name) != 0) error = errno;
    /* A rename onto another name of the same file does nothing, and leaves the temporary. */
    temporary_discard();
  }
  close(directory);
  return error;
}

/* What extended headers say of the next member. */
struct extended {
  char *pax;
  size_t pax_size;
  char *path, *link;
};

static void extended_clear(struct extended *e) {
  free(e->pax);
  free(e->path);
  free(e->link);
  *e = (struct extended){NULL, 0, NULL, NULL};
}

static int read_extended(struct extended *e, const struct tar_member *m) {
  if (m->size > extended_max) return EFBIG;
  char *text = malloc((size_t)m->size + 1);
  if (text == NULL) return ENOMEM;
  if (!read_exactly((uint8_t *)text, (size_t)m->size) || !skip(padding(m->size))) {
    free(text);
    return EIO;
  }
  text[m->size] = 0;
  char **place = m->type == 'x' ? &e->pax : m->type == 'L' ? &e->path : m->type == 'K' ? &e->link : NULL;
  if (place == NULL) {
    free(text); /* a global header: nothing in it that a tree needs */
    return 0;
  }
  free(*place);
  *place = text;
  if (m->type == 'x') e->pax_size = (size_t)m->size;
  return 0;
}

static int apply_extended(const struct extended *e, struct tar_member *m) {
  if (e->path != NULL && strlen(e->path) >= sizeof m->path) return ENAMETOOLONG;
  if (e->link != NULL && strlen(e->link) >= sizeof m->link) return ENAMETOOLONG;
  if (e->path != NULL) strcpy(m->path, e->path);
  if (e->link != NULL) strcpy(m->link, e->link);
  if (e->pax != NULL && !tar_apply_pax(m, e->pax, e->pax_size)) return EINVAL;
  return 0;
}

/* 0 at the end of the archive; an errno; *where is the member at which it failed. */
static int unpack(int root, bool keep_owner, uint64_t *entries, char where[path_bytes]) {
  static struct tar_member m;
  struct extended extended = {NULL, 0, NULL, NULL};
  uint8_t block[tar_block];
  bool zero;
  int error = 0;
  while (error == 0 && read_exactly(block, sizeof block)) {
    if (!tar_decode(block, &m, &zero)) error = EINVAL;
    if (zero || error != 0) break;
    if (strchr("xgLK", m.type) != NULL) {
      error = read_extended(&extended, &m);
      continue;
    }
    error = apply_extended(&extended, &m);
    extended_clear(&extended);
    strcpy(where, m.path);
    bool content = m.type == '0' || m.type == '7';
    if (!content && m.type != '1' && m.size > 0 && error == 0 && !skip(m.size)) error = EIO;
    if (error == 0) error = make_member(root, &m, keep_owner);
    if (error == 0 && !skip(m.type == '1' ? 0 : padding(m.size))) error = EIO;
    if (error == 0) (*entries)++;
  }
  extended_clear(&extended);
  return error;
}

void do_tar_in(struct slice params) {
  char path[path_bytes], where[path_bytes] = "";
  bool created;
  uint64_t entries = 0;
  request_path(params, CAISSON_TAG_FILE_TAR_IN_PATH, path);
  piece = (struct slice){NULL, 0};
  piece_at = 0;
  total = 0;
  int error = make_directories(path, 0755, &created);
  int root = error != 0 ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) return reply_error(error != 0 ? error : errno, path);
  error = unpack(root, message_bool(params, CAISSON_TAG_FILE_TAR_IN_KEEP_OWNER), &entries, where);
  close(root);
  if (error == EINVAL)
    return reply_code(CAISSON_ERROR_INVALID_ARGUMENT, EINVAL, "the archive is not valid at %.300s", where);
  if (error != 0) return reply_error(error, where);
  /* What follows the end mark is padding. */
  const uint8_t *rest;
  while (next_bytes(65536, &rest) > 0) continue;
  uint8_t buffer[64];
  struct writer w = writer_on(buffer, sizeof buffer);
  write_uint(&w, CAISSON_TAG_ARCHIVED_ENTRIES, entries);
  write_uint(&w, CAISSON_TAG_ARCHIVED_BYTES, total);
  reply_result(&w);
}
