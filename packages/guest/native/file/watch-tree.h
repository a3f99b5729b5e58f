/* The watched directories: inotify's numbers with their paths, and the tree kept whole as directories come and go. */
#ifndef CAISSON_WATCH_TREE_H
#define CAISSON_WATCH_TREE_H

#include "request.h"

struct watched {
  int wd;
  char *path; /* relative to the root; "" is the root */
  bool found; /* by the last look at the whole tree */
};

struct watch_tree {
  int inotify;
  char root[path_bytes];
  bool recursive;
  struct watched *list;
  size_t count, capacity;
};

/* Called for each node found in a directory that is new to the tree. */
typedef void (*found_node)(const char *path, bool directory);

/* 0 or an errno. Directories that may not be read are left out, but for the root. */
int watch_tree_open(struct watch_tree *tree, const char *root, bool recursive);
int watch_tree_add(struct watch_tree *tree, const char *path, found_node found);
/* After events were lost: watches what is there now, by its path of now, and nothing else. */
int watch_tree_again(struct watch_tree *tree);
/* Whether there is such a node now. */
bool watch_tree_holds(const struct watch_tree *tree, const char *path);
/* The path of a number, or NULL. */
const char *watch_tree_path(const struct watch_tree *tree, int wd);
void watch_tree_forget(struct watch_tree *tree, int wd);
void watch_tree_moved(struct watch_tree *tree, const char *from, const char *to);
void watch_tree_removed(struct watch_tree *tree, const char *path);
void watch_tree_close(struct watch_tree *tree);

#endif
