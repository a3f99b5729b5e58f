/* One member of the archive becomes one node of the tree, or a mark of the overlay for what the layer removes. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "unpack.h"

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

/* As the kernel's struct open_how and its RESOLVE_ constants. */
struct how {
  uint64_t flags, mode, resolve;
};
enum { resolve_no_magiclinks = 0x02, resolve_no_symlinks = 0x04, resolve_beneath = 0x08 };

enum {
  /* Whoever removes the tree names it from outside, and a path has 4096 bytes at most: the folder's own is left room. */
  name_max_bytes = 3072,
  /* What the filesystem takes. */
  component_max_bytes = 255,
  /* For the names of directories until their times are set: those of a large system have a few megabytes. */
  remembered_max_bytes = 128 * 1024 * 1024,
};

/* Members of one folder mostly follow each other, so its descriptor is kept. */
static char parent_path[path_bytes];
static int parent_fd = -1;

static struct directory {
  char *path;
  struct timespec mtime;
} *directories;
static size_t directory_count, directory_room, remembered_bytes;

static void forget_parent(void) {
  if (parent_fd >= 0) close(parent_fd);
  parent_fd = -1;
}

static int open_directory(const char *path) {
  struct how how = {
    .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW,
    .resolve = resolve_beneath | resolve_no_symlinks | resolve_no_magiclinks,
  };
  return (int)syscall(SYS_openat2, AT_FDCWD, path[0] == 0 ? "." : path, &how, sizeof how);
}

static bool is_whiteout(int directory, const char *name) {
  struct stat st;
  return fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(0, 0);
}

static void make_opaque(int fd, const char *path) {
  if (fsetxattr(fd, "trusted.overlay.opaque", "y", 1, 0) != 0)
    unpack_fail(reason_system, errno, "cannot hide what is below %s", path);
}

/* A directory in the place of a mark that removes what is below: it is new, so nothing of below shows in it. */
static void replace_whiteout(int directory, const char *name, const char *path) {
  if (unlinkat(directory, name, 0) != 0 || mkdirat(directory, name, 0755) != 0)
    unpack_fail(reason_system, errno, "cannot make %s", path);
  int fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) unpack_fail(reason_system, errno, "cannot open %s", path);
  make_opaque(fd, path);
  close(fd);
}

static void remember_directory(const char *path, struct timespec mtime) {
  if (directory_count == directory_room) {
    directory_room = directory_room == 0 ? 1024 : directory_room * 2;
    directories = realloc(directories, directory_room * sizeof *directories);
    if (directories == NULL) unpack_fail(reason_system, ENOMEM, "no memory");
  }
  remembered_bytes += strlen(path) + 1;
  if (remembered_bytes > remembered_max_bytes)
    unpack_fail(reason_limit, 0, "the names of its directories have more than %d bytes", remembered_max_bytes);
  char *copy = strdup(path[0] == 0 ? "." : path);
  if (copy == NULL) unpack_fail(reason_system, ENOMEM, "no memory");
  directories[directory_count++] = (struct directory){copy, mtime};
}

/* Makes the directories of a path that the archive did not mention, then opens the last one. */
static int make_parents(char *path) {
  int directory = open_directory("");
  for (char *name = path, *slash = path; directory >= 0 && slash != NULL; name = slash + 1) {
    slash = strchr(name, '/');
    if (slash != NULL) *slash = 0;
    bool made = is_whiteout(directory, name);
    if (made) replace_whiteout(directory, name, path);
    else if (mkdirat(directory, name, 0755) == 0) made = true;
    else if (errno != EEXIST) unpack_fail(reason_system, errno, "cannot make %s", path);
    /* The tree depends on the archive alone, and not on when it was unpacked. */
    if (made) {
      unpack_count_entry();
      remember_directory(path, (struct timespec){0, 0});
    }
    int inner = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0 && (errno == ELOOP || errno == ENOTDIR))
      unpack_fail(reason_invalid, 0, "%s is used as a directory and is none", path);
    if (inner < 0) unpack_fail(reason_system, errno, "cannot open %s", path);
    close(directory);
    directory = inner;
    if (slash != NULL) *slash = '/';
    else break;
  }
  return directory;
}

/* The directory of the path's last component, which is given as *name. The descriptor is not the caller's to close. */
static int open_parent(char *path, char **name) {
  char *slash = strrchr(path, '/');
  *name = slash == NULL ? path : slash + 1;
  if (slash != NULL) *slash = 0;
  const char *parent = slash == NULL ? "" : path;
  if (parent_fd < 0 || strcmp(parent, parent_path) != 0) {
    forget_parent();
    parent_fd = open_directory(parent);
    if (parent_fd < 0) parent_fd = make_parents(path);
    if (parent_fd < 0) unpack_fail(reason_system, errno, "cannot open %s", parent);
    strcpy(parent_path, parent);
  }
  if (slash != NULL) *slash = '/';
  return parent_fd;
}

/* Absolute names and those with `..` are refused; "./a" and "a/" are plain ways to say "a". */
static void check_name(char *path, const char *what) {
  if (path[0] == '/') unpack_fail(reason_invalid, 0, "%s is absolute: %s", what, path);
  char given[path_bytes];
  strcpy(given, path);
  if (!tar_clean_path(path)) unpack_fail(reason_invalid, 0, "%s has a `..` in it: %s", what, given);
  if (strlen(path) > name_max_bytes) unpack_fail(reason_invalid, 0, "%s is longer than %d bytes", what, name_max_bytes);
  for (const char *at = path; *at != 0; at += *at == '/') {
    size_t size = strcspn(at, "/");
    if (size > component_max_bytes)
      unpack_fail(reason_invalid, 0, "%s has a part of more than %d bytes", what, component_max_bytes);
    at += size;
  }
}

static void clear_place(int directory, const char *name, const char *path) {
  if (unlinkat(directory, name, 0) == 0 || errno == ENOENT) return;
  if (errno != EISDIR && errno != EPERM) unpack_fail(reason_system, errno, "cannot replace %s", path);
  if (unlinkat(directory, name, AT_REMOVEDIR) != 0)
    unpack_fail(reason_invalid, 0, "%s replaces a directory that has files", path);
}

void finish_directories(void) {
  /* The last word on a directory counts; a name that is none any more keeps the times it has. */
  for (size_t i = 0; i < directory_count; i++) {
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, directories[i].mtime};
    int fd = open_directory(directories[i].path);
    if (fd >= 0) {
      futimens(fd, times);
      close(fd);
    }
    free(directories[i].path);
  }
  free(directories);
  directories = NULL;
  directory_count = directory_room = 0;
  forget_parent();
}

static struct timespec time_of(const struct tar_member *m, const struct attributes *a) {
  return (struct timespec){.tv_sec = m->mtime, .tv_nsec = a->mtime_nanoseconds};
}

/* The owner first: a change of it takes away the set-id bits and capabilities. */
static void set_attributes(int fd, const struct tar_member *m, const struct attributes *a) {
  if (m->uid == UINT32_MAX || m->gid == UINT32_MAX)
    unpack_fail(reason_invalid, 0, "the owner of %s is not valid", m->path);
  if (fchown(fd, m->uid, m->gid) != 0) unpack_fail(reason_system, errno, "cannot give %s its owner", m->path);
  if (fchmod(fd, m->mode) != 0) unpack_fail(reason_system, errno, "cannot give %s its mode", m->path);
  attributes_apply(a, fd, m->path);
}

static void make_directory(int directory, const char *name, struct tar_member *m, const struct attributes *a) {
  if (is_whiteout(directory, name)) {
    replace_whiteout(directory, name, m->path);
  } else if (mkdirat(directory, name, 0700) != 0) {
    struct stat st;
    if (errno != EEXIST || fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
      unpack_fail(reason_system, errno, "cannot make %s", m->path);
    if (!S_ISDIR(st.st_mode)) {
      clear_place(directory, name, m->path);
      if (mkdirat(directory, name, 0700) != 0) unpack_fail(reason_system, errno, "cannot make %s", m->path);
    }
  }
  int fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) unpack_fail(reason_system, errno, "cannot open %s", m->path);
  set_attributes(fd, m, a);
  close(fd);
  remember_directory(m->path, time_of(m, a));
  unpack_counts.directories++;
}

static void make_file(int directory, const char *name, struct tar_member *m, const struct attributes *a) {
  int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) unpack_fail(reason_system, errno, "cannot make %s", m->path);
  for (uint64_t left = m->size; left > 0;) {
    const uint8_t *at;
    size_t n = input_some(left > SIZE_MAX ? SIZE_MAX : (size_t)left, &at);
    if (n == 0) unpack_fail(reason_truncated, 0, "it ends in the middle of %s", m->path);
    left -= n;
    while (n > 0) {
      ssize_t written = write(fd, at, n);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) unpack_fail(reason_system, errno, "cannot write %s", m->path);
      at += written;
      n -= (size_t)written;
    }
  }
  set_attributes(fd, m, a);
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, time_of(m, a)};
  futimens(fd, times);
  if (close(fd) != 0) unpack_fail(reason_system, errno, "cannot write %s", m->path);
  unpack_counts.files++;
}

static void make_link(int directory, const char *name, struct tar_member *m) {
  char *target, place[path_bytes];
  check_name(m->link, "the target of a hard link");
  if (m->link[0] == 0) unpack_fail(reason_invalid, 0, "the hard link %s has no target", m->path);
  strcpy(place, m->link);
  char *slash = strrchr(place, '/');
  target = slash == NULL ? place : slash + 1;
  if (slash != NULL) *slash = 0;
  int source = open_directory(slash == NULL ? "" : place);
  struct stat st;
  if (source < 0 || fstatat(source, target, &st, AT_SYMLINK_NOFOLLOW) != 0)
    unpack_fail(reason_invalid, 0, "the hard link %s leads to %s, which the layer does not have", m->path, m->link);
  if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode) && !S_ISFIFO(st.st_mode))
    unpack_fail(reason_invalid, 0, "the hard link %s leads to %s, which is no file", m->path, m->link);
  if (strcmp(m->path, m->link) != 0) {
    clear_place(directory, name, m->path);
    if (linkat(source, target, directory, name, 0) != 0)
      unpack_fail(errno == ENOENT ? reason_invalid : reason_system, errno, "cannot link %s to %s", m->path, m->link);
  }
  close(source);
  unpack_counts.links++;
}

static void make_symlink(int directory, const char *name, struct tar_member *m, const struct attributes *a) {
  if (m->link[0] == 0) unpack_fail(reason_invalid, 0, "the link %s has no target", m->path);
  if (symlinkat(m->link, directory, name) != 0 || fchownat(directory, name, m->uid, m->gid, AT_SYMLINK_NOFOLLOW) != 0)
    unpack_fail(reason_system, errno, "cannot make %s", m->path);
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, time_of(m, a)};
  utimensat(directory, name, times, AT_SYMLINK_NOFOLLOW);
  unpack_counts.symlinks++;
}

static void make_fifo(int directory, const char *name, struct tar_member *m, const struct attributes *a) {
  if (mknodat(directory, name, S_IFIFO | 0600, 0) != 0) unpack_fail(reason_system, errno, "cannot make %s", m->path);
  /* Reading and writing, so that it opens without somebody at its other end. */
  int fd = openat(directory, name, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) unpack_fail(reason_system, errno, "cannot open %s", m->path);
  set_attributes(fd, m, a);
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, time_of(m, a)};
  futimens(fd, times);
  close(fd);
  unpack_counts.fifos++;
}

/*
 * `.wh.x` removes x of the layers below, `.wh..wh..opq` all that they have in this folder. Neither touches what this
 * layer itself has, whatever the order.
 */
static void make_whiteout(int directory, const char *name, const char *path) {
  const char *removed = name + strlen(".wh.");
  if (strcmp(removed, ".wh..opq") == 0) {
    make_opaque(directory, path);
    unpack_counts.opaque++;
    return;
  }
  if (strncmp(removed, ".wh.", 4) == 0) return; /* notes that an old storage kept for itself */
  if (removed[0] == 0 || strcmp(removed, ".") == 0 || strcmp(removed, "..") == 0)
    unpack_fail(reason_invalid, 0, "the mark %s removes nothing that could be removed", path);
  if (mknodat(directory, removed, S_IFCHR, makedev(0, 0)) != 0) {
    if (errno != EEXIST) unpack_fail(reason_system, errno, "cannot make %s", path);
    int fd = openat(directory, removed, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) {
      make_opaque(fd, path);
      close(fd);
    }
  }
  unpack_counts.whiteouts++;
}

static void make_root(const struct tar_member *m, const struct attributes *a) {
  if (m->type != '5') unpack_fail(reason_invalid, 0, "a member has no name");
  int fd = open_directory("");
  if (fd < 0) unpack_fail(reason_system, errno, "cannot open the folder");
  set_attributes(fd, m, a);
  close(fd);
  remember_directory("", time_of(m, a));
  unpack_counts.directories++;
}

static bool has_mark_within(const char *path) {
  for (const char *at = path; at != NULL; at = strchr(at, '/')) {
    if (*at == '/') at++;
    if (strncmp(at, ".wh.", 4) == 0 && strchr(at, '/') != NULL) return true;
  }
  return false;
}

void make_member(struct tar_member *m, const struct attributes *a) {
  char *name;
  check_name(m->path, "the name of a member");
  if (m->path[0] == 0) return make_root(m, a);
  if (!a->literal_folders && has_mark_within(m->path)) unpack_fail(reason_invalid, 0, "a mark of removal is used as a directory: %s", m->path);
  int directory = open_parent(m->path, &name);
  if (!a->literal_path && strncmp(name, ".wh.", 4) == 0) {
    make_whiteout(directory, name, m->path);
    if (m->type == '0' || m->type == '7') input_exactly(NULL, m->size);
    return;
  }
  switch (m->type) {
    case '0':
    case '7':
      clear_place(directory, name, m->path);
      return make_file(directory, name, m, a);
    case '1':
      return make_link(directory, name, m);
    case '2':
      clear_place(directory, name, m->path);
      return make_symlink(directory, name, m, a);
    case '3':
    case '4':
      unpack_counts.skipped_devices++;
      return;
    case '5':
      return make_directory(directory, name, m, a);
    case '6':
      clear_place(directory, name, m->path);
      return make_fifo(directory, name, m, a);
    default:
      unpack_fail(reason_invalid, 0, "%s is of the unknown type %d", m->path, m->type);
  }
}
