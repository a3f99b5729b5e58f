#include "diff.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../file/names.h"
#include "../guest/descriptors.h"
#include "kept-attributes.h"

enum {
  /* Four descriptors for each level. */
  depth_max = 1000,
  path_bytes = 4096,
};

/* One folder on both sides, before and after: as it is seen, and what of it was changed. -1 for what is not there. */
struct pair {
  int root[2], changes[2];
};

/* A path given by the caller, in parts. */
struct given {
  const char *part[path_bytes / 2];
  int count;
};

static struct given below, after;
static uint64_t items_left = UINT64_MAX, skipped;
static char path[path_bytes];
static char last[path_bytes]; /* the last path that was looked at */

__attribute__((noreturn)) static void fail(const char *what) {
  fprintf(stderr, "diff: %s: %s\n", what, strerror(errno));
  exit(1);
}

__attribute__((noreturn)) static void end(bool whole) {
  if (whole) printf("= %llu", (unsigned long long)skipped);
  else printf("> %llu %s", (unsigned long long)skipped, last);
  putchar(0);
  exit(fflush(stdout) == 0 ? 0 : 1);
}

static char kind_of(const struct stat *st) {
  if (st == NULL) return '-';
  if (S_ISREG(st->st_mode)) return 'f';
  if (S_ISDIR(st->st_mode)) return 'd';
  return S_ISLNK(st->st_mode) ? 'l' : 'o';
}

static void put_node(const struct stat *st) {
  if (st == NULL) printf("0 0 0 0 ");
  else printf("%lld %o %u %u ", (long long)st->st_size, (unsigned)st->st_mode & 07777u, st->st_uid, st->st_gid);
}

static void put_item(const struct stat *before, const struct stat *now, char what) {
  items_left--;
  printf("%c%c %c ", kind_of(before), kind_of(now), what);
  put_node(before);
  put_node(now);
  fputs(path, stdout);
  putchar(0);
}

static bool same_owner_and_mode(const struct stat *a, const struct stat *b) {
  return a->st_mode == b->st_mode && a->st_uid == b->st_uid && a->st_gid == b->st_gid;
}

static void close_pair(struct pair *p) {
  for (int i = 0; i < 2; i++) {
    if (p->root[i] >= 0) close(p->root[i]);
    if (p->changes[i] >= 0) close(p->changes[i]);
  }
}

/* What differs of two files, as `c`, `a` or `-`. */
static char compare_files(const struct pair *in, const char *name, const struct stat *st) {
  if (compare_is_untouched(&st[0], &st[1])) return '-';
  if (st[0].st_size != st[1].st_size) return 'c';
  int fd[2] = {compare_open(in->root[0], name, false), -1};
  if (fd[0] >= 0) fd[1] = compare_open(in->root[1], name, false);
  /* What the host shows in both is not of the trees. */
  bool is_mount = (fd[0] < 0 || fd[1] < 0) && errno == EXDEV;
  char what = '-';
  if (!is_mount) {
    if (fd[0] < 0 || fd[1] < 0 || !compare_content(fd[0], fd[1])) what = 'c';
    else if (!same_owner_and_mode(&st[0], &st[1]) || !compare_attributes(fd[0], fd[1])) what = 'a';
  }
  for (int i = 0; i < 2; i++)
    if (fd[i] >= 0) close(fd[i]);
  return what;
}

static char compare_others(const struct pair *in, const char *name, const struct stat *st) {
  if ((st[0].st_mode & S_IFMT) != (st[1].st_mode & S_IFMT)) return 'c';
  if (S_ISLNK(st[0].st_mode) && !compare_links(in->root[0], in->root[1], name)) return 'c';
  if ((S_ISCHR(st[0].st_mode) || S_ISBLK(st[0].st_mode)) && st[0].st_rdev != st[1].st_rdev) return 'c';
  return same_owner_and_mode(&st[0], &st[1]) ? '-' : 'a';
}

/*
 * Opens the folder on each side that has it. False when it must not be entered. `whole` becomes true where the changes do
 * not tell all: a side shows nothing of the layers, or has nothing that the other could be held against.
 */
static bool enter(const struct pair *in, const char *name, const bool is_folder[2], bool *whole, struct pair *out) {
  *out = (struct pair){{-1, -1}, {-1, -1}};
  if (!is_folder[0] || !is_folder[1]) *whole = true;
  for (int i = 0; i < 2; i++) {
    if (is_folder[i]) out->root[i] = compare_open(in->root[i], name, true);
    if (is_folder[i] && out->root[i] < 0 && errno == EXDEV) return false;
    if (*whole || in->changes[i] < 0) continue;
    out->changes[i] = compare_open(in->changes[i], name, true);
    if (out->changes[i] >= 0 && overlay_attribute_is(out->changes[i], "trusted.overlay.opaque", 'y')) *whole = true;
  }
  return out->root[0] >= 0 || out->root[1] >= 0;
}

static void diff_folders(const struct pair *in, bool whole, int depth, bool behind);

/* `behind`: the caller's `--after` leads through this entry, which was told of before. */
static void diff_entry(const struct pair *in, const char *name, bool whole, int depth, bool behind) {
  struct stat st[2];
  bool there[2], is_folder[2];
  for (int i = 0; i < 2; i++) {
    there[i] = in->root[i] >= 0 && fstatat(in->root[i], name, &st[i], AT_SYMLINK_NOFOLLOW) == 0;
    is_folder[i] = there[i] && S_ISDIR(st[i].st_mode);
  }
  if (!there[0] && !there[1]) return;
  bool tells = !behind && depth + 1 >= below.count;
  if (tells && (items_left == 0 || (last[0] != 0 && compare_is_late()))) end(false);
  const struct stat *before = there[0] ? &st[0] : NULL, *now = there[1] ? &st[1] : NULL;
  if (tells) {
    if (kind_of(before) != kind_of(now)) put_item(before, now, '-');
    else if (!is_folder[0]) {
      char what = S_ISREG(st[0].st_mode) ? compare_files(in, name, st) : compare_others(in, name, st);
      if (what != '-') put_item(before, now, what);
    }
  }
  struct pair inner = {{-1, -1}, {-1, -1}};
  if (is_folder[0] || is_folder[1]) {
    bool all = whole;
    bool entered = enter(in, name, is_folder, &all, &inner);
    if (tells && is_folder[0] && is_folder[1] && !compare_is_untouched(&st[0], &st[1])) {
      bool open = inner.root[0] >= 0 && inner.root[1] >= 0;
      if (!same_owner_and_mode(before, now) || (open && !compare_attributes(inner.root[0], inner.root[1])))
        put_item(before, now, 'a');
    }
    if (tells) strcpy(last, path);
    if (entered && depth < depth_max) diff_folders(&inner, all, depth + 1, behind);
    else if (entered) skipped++;
    close_pair(&inner);
  } else if (tells) {
    strcpy(last, path);
  }
}

/* The next name of two sorted lists, and past it in each that has it. */
static const char *next_name(const struct names lists[2], size_t at[2]) {
  const char *a = at[0] < lists[0].count ? lists[0].list[at[0]] : NULL;
  const char *b = at[1] < lists[1].count ? lists[1].list[at[1]] : NULL;
  int order = a == NULL ? 1 : b == NULL ? -1 : strcmp(a, b);
  if (a == NULL && b == NULL) return NULL;
  if (order <= 0) at[0]++;
  if (order >= 0) at[1]++;
  return order <= 0 ? a : b;
}

static void diff_named(const struct pair *in, const char *name, bool whole, int depth, bool behind) {
  if (behind) {
    int order = strcmp(name, after.part[depth]);
    if (order < 0) return;
    behind = order == 0;
  }
  size_t length = strlen(path);
  int size = snprintf(path + length, sizeof path - length, "%s%s", length == 0 ? "" : "/", name);
  if (length + (size_t)size >= sizeof path) skipped++;
  else diff_entry(in, name, whole, depth, behind);
  path[length] = 0;
}

static bool is_changed(const struct pair *in, const char *name) {
  struct stat st;
  for (int i = 0; i < 2; i++)
    if (in->changes[i] >= 0 && fstatat(in->changes[i], name, &st, AT_SYMLINK_NOFOLLOW) == 0) return true;
  return false;
}

static void diff_folders(const struct pair *in, bool whole, int depth, bool behind) {
  /* Behind the last part of `--after` everything is new. */
  if (depth >= after.count) behind = false;
  if (depth < below.count) {
    if (whole || is_changed(in, below.part[depth])) diff_named(in, below.part[depth], whole, depth, behind);
    return;
  }
  struct names lists[2] = {{NULL, 0, NULL}, {NULL, 0, NULL}};
  for (int i = 0; i < 2; i++) {
    int fd = whole ? in->root[i] : in->changes[i];
    if (fd >= 0 && !names_read(fd, &lists[i])) fail(path);
  }
  size_t at[2] = {0, 0};
  for (const char *name; (name = next_name(lists, at)) != NULL;) diff_named(in, name, whole, depth, behind);
  names_free(&lists[0]);
  names_free(&lists[1]);
}

static int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* In place. Names are bytes, and who starts us may only have text: `%` and two digits are any byte. */
static bool decode(char *text) {
  char *out = text;
  for (const char *at = text; *at != 0; at++) {
    if (*at != '%') {
      *out++ = *at;
      continue;
    }
    int high = digit(at[1]), low = high < 0 ? -1 : digit(at[2]);
    if (low < 0 || high + low == 0) return false;
    *out++ = (char)(high << 4 | low);
    at += 2;
  }
  *out = 0;
  return true;
}

/* Into its parts, in place; false when it has one that leads elsewhere. */
static bool split(char *text, struct given *to) {
  if (!decode(text)) return false;
  for (char *part = strtok(text, "/"); part != NULL; part = strtok(NULL, "/")) {
    if (strcmp(part, ".") == 0 || strcmp(part, "..") == 0) return false;
    if (to->count == (int)(sizeof to->part / sizeof *to->part)) return false;
    to->part[to->count++] = part;
  }
  return true;
}

static int open_root(const char *folder) {
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) fail(folder);
  return fd;
}

int diff_main(int argc, char **argv) {
  if (argc < 2) return 2;
  long long milliseconds = 1000LL * 3600;
  struct pair top = {{-1, -1}, {-1, -1}};
  for (int i = 2; i < argc;) {
    if (i + 2 < argc && strcmp(argv[i], "--changes") == 0) {
      for (int n = 0; n < 2; n++) top.changes[n] = open_root(argv[i + 1 + n]);
      i += 3;
      continue;
    }
    if (i + 1 >= argc) return 2;
    if (strcmp(argv[i], "--below") == 0 && split(argv[i + 1], &below)) i += 2;
    else if (strcmp(argv[i], "--after") == 0 && split(argv[i + 1], &after)) i += 2;
    else if (strcmp(argv[i], "--max-items") == 0) items_left = strtoull(argv[i + 1], NULL, 10), i += 2;
    else if (strcmp(argv[i], "--max-ms") == 0) milliseconds = strtoll(argv[i + 1], NULL, 10), i += 2;
    else return 2;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  descriptors_allow(RLIM_INFINITY);
  for (int n = 0; n < 2; n++) top.root[n] = open_root(argv[n]);
  if (!compare_prepare()) fail("memory");
  compare_deadline(milliseconds);
  bool whole = top.changes[0] < 0;
  for (int n = 0; n < 2 && !whole; n++) whole = overlay_attribute_is(top.changes[n], "trusted.overlay.opaque", 'y');
  diff_folders(&top, whole, 0, after.count > 0);
  end(true);
}
