/* file.remove, chmod and chown: one node, or everything below it too. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "directory.h"
#include "walk.h"
#include "change-mode.h"

struct change {
  struct walk walk;
  mode_t mode;
  uid_t uid;
  gid_t gid;
  int error;
};

static enum walk_verdict fail(struct change *c) {
  /* What somebody else removed meanwhile needs no change. */
  if (errno == ENOENT) return WALK_ON;
  c->error = errno;
  return WALK_STOP;
}

static enum walk_verdict remove_node(struct walk *walk, int directory, const char *name, const char *path,
                                     const struct stat *st) {
  (void)path;
  if (S_ISDIR(st->st_mode) || unlinkat(directory, name, 0) == 0) return WALK_ON;
  return fail((struct change *)walk);
}

static enum walk_verdict remove_directory(struct walk *walk, int directory, const char *name, const char *path) {
  (void)path;
  return unlinkat(directory, name, AT_REMOVEDIR) == 0 ? WALK_ON : fail((struct change *)walk);
}

void do_remove(struct slice params) {
  char path[path_bytes];
  const char *name;
  request_path(params, CAISSON_TAG_FILE_REMOVE_PATH, path);
  struct change c = {.walk = {.hidden = true, .temporaries = true, .depth = UINT32_MAX, .visit = remove_node,
                              .leave = remove_directory}};
  struct stat st;
  int directory = open_parent(path, &name), error = 0;
  if (directory < 0 || fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0) error = errno;
  if (error == 0 && S_ISDIR(st.st_mode) && message_bool(params, CAISSON_TAG_FILE_REMOVE_RECURSIVE)) {
    int root = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    /* One that may not be read may still be empty. */
    if (root >= 0) {
      walk_tree_at(&c.walk, root);
      close(root);
    }
    error = c.error;
  }
  if (error == 0 && unlinkat(directory, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0) != 0) error = errno;
  if (directory >= 0) close(directory);
  if (error == ENOENT && message_bool(params, CAISSON_TAG_FILE_REMOVE_MISSING_OK)) error = 0;
  if (error != 0) return reply_error(error, path);
  reply_nothing();
}

static enum walk_verdict chmod_node(struct walk *walk, int directory, const char *name, const char *path,
                                    const struct stat *st) {
  struct change *c = (struct change *)walk;
  (void)path;
  if (S_ISLNK(st->st_mode)) return WALK_ON;
  return change_mode(directory, name, c->mode) == 0 ? WALK_ON : fail(c);
}

static enum walk_verdict chown_node(struct walk *walk, int directory, const char *name, const char *path,
                                    const struct stat *st) {
  struct change *c = (struct change *)walk;
  (void)path;
  (void)st;
  return fchownat(directory, name, c->uid, c->gid, AT_SYMLINK_NOFOLLOW) == 0 ? WALK_ON : fail(c);
}

/* The root is changed last, or a mode that takes away search would end the walk before it began. */
static void finish(struct change *c, const char *path, bool recursive, int (*change_root)(struct change *, const char *)) {
  struct stat st;
  int error = 0;
  if (fstatat(AT_FDCWD, path, &st, 0) != 0) error = errno;
  if (error == 0 && recursive && S_ISDIR(st.st_mode)) {
    error = walk_tree(&c->walk, path);
    if (error == 0) error = c->error;
  }
  if (error == 0 && change_root(c, path) != 0) error = errno;
  if (error != 0) return reply_error(error, path);
  reply_nothing();
}

static int chmod_root(struct change *c, const char *path) { return chmod(path, c->mode); }
static int chown_root(struct change *c, const char *path) { return chown(path, c->uid, c->gid); }

static enum walk_verdict chmod_left(struct walk *walk, int directory, const char *name, const char *path) {
  struct stat st = {.st_mode = S_IFDIR};
  return chmod_node(walk, directory, name, path, &st);
}

static enum walk_verdict chmod_files(struct walk *walk, int directory, const char *name, const char *path,
                                     const struct stat *st) {
  return S_ISDIR(st->st_mode) ? WALK_ON : chmod_node(walk, directory, name, path, st);
}

void do_chmod(struct slice params) {
  char path[path_bytes];
  request_path(params, CAISSON_TAG_FILE_CHMOD_PATH, path);
  struct change c = {.walk = {.hidden = true, .temporaries = true, .depth = UINT32_MAX, .visit = chmod_files,
                              .leave = chmod_left}};
  c.mode = (mode_t)message_uint(params, CAISSON_TAG_FILE_CHMOD_MODE, 0);
  finish(&c, path, message_bool(params, CAISSON_TAG_FILE_CHMOD_RECURSIVE), chmod_root);
}

void do_chown(struct slice params) {
  char path[path_bytes];
  request_path(params, CAISSON_TAG_FILE_CHOWN_PATH, path);
  struct change c = {.walk = {.hidden = true, .temporaries = true, .depth = UINT32_MAX, .visit = chown_node}};
  c.uid = (uid_t)message_uint(params, CAISSON_TAG_FILE_CHOWN_UID, (uint64_t)-1);
  c.gid = (gid_t)message_uint(params, CAISSON_TAG_FILE_CHOWN_GID, (uint64_t)-1);
  finish(&c, path, message_bool(params, CAISSON_TAG_FILE_CHOWN_RECURSIVE), chown_root);
}
