#include "pack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "../file/names.h"
#include "../guest/descriptors.h"
#include "kept-attributes.h"
#include "links.h"

/* A descriptor and a frame of the stack for each level. Longer paths than a level of one letter each cannot be told anyway. */
enum { depth_max = 2048, no_follow = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY };

static char path[path_bytes]; /* of what is being packed, from the root */
static uint64_t entries, entries_max = UINT64_MAX;

void pack_fail(enum pack_failure failure, int error, const char *why) {
  fprintf(stderr, "pack: %s: %s%s%s\n", path[0] == 0 ? "." : path, why, error == 0 ? "" : ": ", error == 0 ? "" : strerror(error));
  exit(failure);
}

static struct tar_member *member_of(char type) {
  static struct tar_member member;
  memset(&member, 0, sizeof member);
  member.type = type;
  if (strlen(path) + 2 > sizeof member.path) pack_fail(pack_untold, ENAMETOOLONG, "its path");
  strcpy(member.path, path);
  if (++entries > entries_max) pack_fail(pack_limit, 0, "there are more entries than there may be");
  return &member;
}

/* A mark of removal: `.wh.` before the last part of the path, or before nothing for all that is below a folder. */
static void put_mark(const char *folder, const char *removed) {
  struct tar_member *m = member_of('0');
  size_t length = strlen(folder) + strlen(removed) + 6;
  if (length >= sizeof m->path) pack_fail(pack_untold, ENAMETOOLONG, "its path");
  snprintf(m->path, sizeof m->path, "%s%s.wh.%s", folder, folder[0] == 0 ? "" : "/", removed);
  put_header(m, NULL, -1);
}

static void pack_directory(int directory, int depth);

static void pack_opened_directory(int fd, const struct stat *st, int depth) {
  struct tar_member *m = member_of('5');
  if (path[0] == 0) strcpy(m->path, ".");
  strcat(m->path, "/");
  put_header(m, st, fd);
  char redirect[2];
  ssize_t size = fgetxattr(fd, "trusted.overlay.redirect", redirect, sizeof redirect);
  if (size >= 0 || errno == ERANGE) pack_fail(pack_untold, 0, "it was moved by an overlay that keeps only the way back");
  if (overlay_attribute_is(fd, "trusted.overlay.opaque", 'y')) put_mark(path, ".wh..opq");
  pack_directory(fd, depth);
}

static void pack_opened_file(int fd, const struct stat *st) {
  if (fgetxattr(fd, "trusted.overlay.metacopy", NULL, 0) >= 0)
    pack_fail(pack_untold, 0, "an overlay keeps its content elsewhere");
  struct tar_member *m = member_of('0');
  m->size = (uint64_t)st->st_size;
  put_header(m, st, fd);
  put_content(fd, m->size);
}

/* False when it is not what it was a moment ago. */
static bool pack_opened(int directory, const char *name, struct stat *st, int depth) {
  bool is_directory = S_ISDIR(st->st_mode);
  mode_t kind = st->st_mode & S_IFMT;
  int fd = openat(directory, name, O_RDONLY | no_follow | (is_directory ? O_DIRECTORY : 0));
  if (fd < 0 && (errno == ENOENT || errno == ELOOP || errno == ENOTDIR)) return false;
  if (fd < 0 || fstat(fd, st) != 0) pack_fail(pack_refused, errno, "cannot open it");
  bool same = (st->st_mode & S_IFMT) == kind;
  if (same && is_directory) pack_opened_directory(fd, st, depth + 1);
  else if (same) pack_opened_file(fd, st);
  close(fd);
  return same;
}

static void pack_named(int directory, const char *name, const struct stat *st) {
  if (S_ISSOCK(st->st_mode)) return;
  struct tar_member *m = member_of(S_ISLNK(st->st_mode) ? '2' : '6');
  if (S_ISLNK(st->st_mode)) {
    ssize_t size = readlinkat(directory, name, m->link, sizeof m->link - 1);
    if (size < 0) pack_fail(pack_refused, errno, "cannot read the link");
    m->link[size] = 0;
  }
  put_header(m, st, -1);
}

static void pack_entry(int directory, const char *name, int depth) {
  struct stat st;
  if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0) pack_fail(pack_refused, errno, "cannot look at it");
  if (S_ISCHR(st.st_mode) && st.st_rdev == 0) {
    if (strncmp(name, ".wh.", 4) == 0) pack_fail(pack_untold, 0, "a mark of removal of what looks like one");
    char *slash = strrchr(path, '/');
    if (slash != NULL) *slash = 0;
    put_mark(slash == NULL ? "" : path, name);
    if (slash != NULL) *slash = '/';
    return;
  }
  if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)) pack_fail(pack_untold, 0, "it is a device");
  const char *known = links_find(&st);
  if (known != NULL) {
    struct tar_member *m = member_of('1');
    strcpy(m->link, known);
    put_header(m, &st, -1);
    return;
  }
  if (!S_ISDIR(st.st_mode) && !links_remember(&st, path)) pack_fail(pack_refused, ENOMEM, "no memory");
  if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) return pack_named(directory, name, &st);
  if (!pack_opened(directory, name, &st, depth)) pack_fail(pack_refused, EBUSY, "it changes while it is packed");
}

static void pack_directory(int directory, int depth) {
  struct names names;
  if (depth > depth_max) pack_fail(pack_untold, ELOOP, "it is too deep");
  if (!names_read(directory, &names)) pack_fail(pack_refused, errno, "cannot list it");
  size_t length = strlen(path);
  for (size_t i = 0; i < names.count; i++) {
    int size = snprintf(path + length, sizeof path - length, "%s%s", length == 0 ? "" : "/", names.list[i]);
    if (length + (size_t)size >= sizeof path) pack_fail(pack_untold, ENAMETOOLONG, "a path");
    pack_entry(directory, names.list[i], depth);
    path[length] = 0;
  }
  names_free(&names);
}

static bool number(const char *text, uint64_t *out) {
  char *end;
  errno = 0;
  *out = strtoull(text, &end, 10);
  return text[0] >= '0' && text[0] <= '9' && *end == 0 && errno == 0;
}

int pack_main(int argc, char **argv) {
  uint64_t value, bytes_max = UINT64_MAX;
  if (argc < 1 || argv[0][0] == '-') return 2;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 >= argc || !number(argv[i + 1], &value)) return 2;
    if (strcmp(argv[i], "--max-bytes") == 0) bytes_max = value;
    else if (strcmp(argv[i], "--max-entries") == 0) entries_max = value;
    else if (strcmp(argv[i], "--impersonal") == 0) put_impersonal(value);
    else if (strcmp(argv[i], "--owner") == 0 && value < UINT32_MAX) put_owner((uint32_t)value);
    else return 2;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  descriptors_allow(RLIM_INFINITY);
  put_limit(bytes_max);
  if (!links_prepare()) pack_fail(pack_refused, ENOMEM, "no memory");
  struct stat st;
  int root = open(argv[0], O_RDONLY | O_DIRECTORY | no_follow);
  if (root < 0 || fstat(root, &st) != 0) pack_fail(pack_refused, errno, argv[0]);
  pack_opened_directory(root, &st, 0);
  put_end();
  return 0;
}
