/*
 * A tree, in order of path, by directory descriptors: no symbolic link below the root is followed, whoever moves
 * directories around meanwhile. What cannot be opened or has vanished is left out.
 */
#ifndef CAISSON_WALK_H
#define CAISSON_WALK_H

#include <sys/stat.h>

#include "names.h"
#include "request.h"

enum walk_verdict { WALK_ON, WALK_SKIP, WALK_STOP }; /* SKIP: do not go into this directory */

struct walk {
  bool hidden;       /* also names that begin with a dot */
  bool ignore_files; /* obey .gitignore and .ignore */
  bool temporaries;  /* also what file.write has not finished */
  unsigned depth;    /* levels below the root */
  enum walk_verdict (*visit)(struct walk *walk, int directory, const char *name, const char *path,
                             const struct stat *st);
  /* After everything below a directory; may be NULL. */
  enum walk_verdict (*leave)(struct walk *walk, int directory, const char *name, const char *path);
  uint64_t unreadable; /* directories that could not be read */
};

/* Everything below root; `path` is relative to it. 0, or the errno why the root cannot be read. */
int walk_tree(struct walk *walk, const char *root);
int walk_tree_at(struct walk *walk, int directory);

#endif
