#include "walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ignore.h"
#include "temporary.h"

enum { levels_max = 2048 };

static bool left_out(const struct walk *walk, const char *name) {
  if (!walk->hidden && name[0] == '.') return true;
  if (walk->ignore_files && strcmp(name, ".git") == 0) return true;
  return !walk->temporaries && is_temporary(name);
}

static enum walk_verdict walk_level(struct walk *walk, int directory, char *path, size_t length, unsigned level,
                                    const struct ignore *outer);

static enum walk_verdict visit_one(struct walk *walk, int directory, const char *name, char *path, size_t length,
                                   unsigned level, const struct ignore *rules) {
  struct stat st;
  size_t size = strlen(name);
  if (length + size + 2 > path_bytes) return WALK_ON;
  if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0) return WALK_ON;
  memcpy(path + length, name, size + 1);
  bool is_directory = S_ISDIR(st.st_mode);
  if (walk->ignore_files && ignore_matches(rules, path, is_directory)) return WALK_ON;
  enum walk_verdict verdict = walk->visit(walk, directory, name, path, &st);
  if (verdict == WALK_STOP) return WALK_STOP;
  if (!is_directory) return WALK_ON;
  if (verdict == WALK_ON && level < walk->depth && level < levels_max) {
    int inner = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0) {
      walk->unreadable++;
    } else {
      path[length + size] = '/';
      path[length + size + 1] = 0;
      verdict = walk_level(walk, inner, path, length + size + 1, level + 1, rules);
      close(inner);
      path[length + size] = 0;
      if (verdict == WALK_STOP) return WALK_STOP;
    }
  }
  return walk->leave == NULL ? WALK_ON : walk->leave(walk, directory, name, path);
}

static enum walk_verdict walk_level(struct walk *walk, int directory, char *path, size_t length, unsigned level,
                                    const struct ignore *outer) {
  struct names names;
  if (!names_read(directory, &names)) {
    walk->unreadable++;
    return WALK_ON;
  }
  struct ignore rules = {.outer = outer, .base = length};
  if (walk->ignore_files) ignore_load(&rules, directory);
  enum walk_verdict verdict = WALK_ON;
  for (size_t i = 0; i < names.count && verdict != WALK_STOP; i++) {
    if (left_out(walk, names.list[i])) continue;
    verdict = visit_one(walk, directory, names.list[i], path, length, level, &rules);
    path[length] = 0;
  }
  ignore_free(&rules);
  names_free(&names);
  return verdict;
}

int walk_tree_at(struct walk *walk, int directory) {
  static char path[path_bytes];
  path[0] = 0;
  /* The root itself must be readable; what lies below may not be. */
  int probe = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (probe < 0) return errno;
  close(probe);
  walk_level(walk, directory, path, 0, 1, NULL);
  return 0;
}

int walk_tree(struct walk *walk, const char *root) {
  int directory = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return errno;
  int error = walk_tree_at(walk, directory);
  close(directory);
  return error;
}
