#include "watch-tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "temporary.h"
#include "walk.h"

enum {
  events = IN_CREATE | IN_DELETE | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO |
           IN_DELETE_SELF | IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK,
  directories_max = 65536,
  levels_max = 256,
};

static bool full_path(const struct watch_tree *tree, const char *path, char out[2 * path_bytes]) {
  int size = snprintf(out, 2 * path_bytes, "%s%s%s", tree->root, *path == 0 ? "" : "/", path);
  return size > 0 && size < path_bytes;
}

static int remember(struct watch_tree *tree, int wd, const char *path) {
  char *copy = strdup(path);
  if (copy == NULL) return ENOMEM;
  for (size_t i = 0; i < tree->count; i++) {
    if (tree->list[i].wd != wd) continue;
    free(tree->list[i].path);
    tree->list[i].path = copy;
    tree->list[i].found = true;
    return 0;
  }
  if (tree->count == tree->capacity) {
    size_t capacity = tree->capacity == 0 ? 64 : tree->capacity * 2;
    struct watched *grown = realloc(tree->list, capacity * sizeof *grown);
    if (grown == NULL) {
      free(copy);
      return ENOMEM;
    }
    tree->list = grown;
    tree->capacity = capacity;
  }
  tree->list[tree->count++] = (struct watched){wd, copy, true};
  return 0;
}

static int add_level(struct watch_tree *tree, const char *path, found_node found, int level) {
  char full[2 * path_bytes];
  if (!full_path(tree, path, full) || level > levels_max) return 0;
  if (tree->count >= directories_max) return ENOSPC;
  uint32_t mask = *path == 0 ? events & ~(uint32_t)IN_DONT_FOLLOW : events;
  int wd = inotify_add_watch(tree->inotify, full, mask);
  if (wd < 0) return errno;
  int error = remember(tree, wd, path);
  if (error != 0) return error;
  if (!tree->recursive && found == NULL) return 0;
  /* Watched first and read afterwards: what is made in between is seen twice rather than never. */
  int directory = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (*path == 0 ? 0 : O_NOFOLLOW));
  struct names names;
  if (directory < 0 || !names_read(directory, &names)) {
    if (directory >= 0) close(directory);
    return *path == 0 ? errno : 0;
  }
  for (size_t i = 0; i < names.count && error == 0; i++) {
    struct stat st;
    char inner[path_bytes];
    if (is_temporary(names.list[i])) continue;
    if (fstatat(directory, names.list[i], &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
    int size = snprintf(inner, sizeof inner, "%s%s%s", path, *path == 0 ? "" : "/", names.list[i]);
    if (size < 0 || (size_t)size >= sizeof inner) continue;
    if (found != NULL) found(inner, S_ISDIR(st.st_mode));
    if (!S_ISDIR(st.st_mode) || !tree->recursive) continue;
    error = add_level(tree, inner, found, level + 1);
    /* What vanished meanwhile, or may not be read, is not watched; everything else ends the watch. */
    if (error == ENOENT || error == EACCES || error == ENOTDIR || error == ELOOP) error = 0;
  }
  names_free(&names);
  close(directory);
  return error;
}

int watch_tree_add(struct watch_tree *tree, const char *path, found_node found) {
  return tree->recursive ? add_level(tree, path, found, 1) : 0;
}

int watch_tree_open(struct watch_tree *tree, const char *root, bool recursive) {
  tree->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (tree->inotify < 0) return errno;
  snprintf(tree->root, sizeof tree->root, "%s", root);
  tree->recursive = recursive;
  return add_level(tree, "", NULL, 0);
}

const char *watch_tree_path(const struct watch_tree *tree, int wd) {
  for (size_t i = 0; i < tree->count; i++)
    if (tree->list[i].wd == wd) return tree->list[i].path;
  return NULL;
}

static void drop(struct watch_tree *tree, size_t i) {
  free(tree->list[i].path);
  tree->list[i] = tree->list[--tree->count];
}

void watch_tree_forget(struct watch_tree *tree, int wd) {
  for (size_t i = 0; i < tree->count; i++)
    if (tree->list[i].wd == wd) return drop(tree, i);
}

int watch_tree_again(struct watch_tree *tree) {
  for (size_t i = 0; i < tree->count; i++) tree->list[i].found = false;
  int error = add_level(tree, "", NULL, 0);
  if (error != 0) return error;
  for (size_t i = tree->count; i > 0; i--) {
    if (tree->list[i - 1].found) continue;
    inotify_rm_watch(tree->inotify, tree->list[i - 1].wd);
    drop(tree, i - 1);
  }
  return 0;
}

bool watch_tree_holds(const struct watch_tree *tree, const char *path) {
  char full[2 * path_bytes];
  struct stat st;
  return full_path(tree, path, full) && fstatat(AT_FDCWD, full, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool is_below(const char *path, const char *directory, size_t size) {
  return strncmp(path, directory, size) == 0 && (path[size] == 0 || path[size] == '/');
}

void watch_tree_moved(struct watch_tree *tree, const char *from, const char *to) {
  size_t size = strlen(from);
  for (size_t i = 0; i < tree->count; i++) {
    if (!is_below(tree->list[i].path, from, size)) continue;
    char moved[2 * path_bytes];
    snprintf(moved, sizeof moved, "%s%s", to, tree->list[i].path + size);
    char *copy = strdup(moved);
    if (copy == NULL) continue;
    free(tree->list[i].path);
    tree->list[i].path = copy;
  }
}

void watch_tree_removed(struct watch_tree *tree, const char *path) {
  size_t size = strlen(path);
  for (size_t i = tree->count; i > 0; i--) {
    if (!is_below(tree->list[i - 1].path, path, size)) continue;
    inotify_rm_watch(tree->inotify, tree->list[i - 1].wd);
    drop(tree, i - 1);
  }
}

void watch_tree_close(struct watch_tree *tree) {
  while (tree->count > 0) drop(tree, tree->count - 1);
  free(tree->list);
  if (tree->inotify >= 0) close(tree->inotify);
  *tree = (struct watch_tree){.inotify = -1};
}
