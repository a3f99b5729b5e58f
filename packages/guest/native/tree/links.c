#include "links.h"

#include <stdlib.h>
#include <string.h>

enum { buckets = 65536 };

struct linked {
  dev_t device;
  ino_t inode;
  struct linked *next;
  char path[];
};
static struct linked **links;

bool links_prepare(void) {
  links = calloc(buckets, sizeof *links);
  return links != NULL;
}

const char *links_find(const struct stat *st) {
  if (S_ISDIR(st->st_mode) || st->st_nlink < 2) return NULL;
  const struct linked *l = links[st->st_ino % buckets];
  while (l != NULL && (l->inode != st->st_ino || l->device != st->st_dev)) l = l->next;
  return l == NULL ? NULL : l->path;
}

bool links_remember(const struct stat *st, const char *path) {
  if (st->st_nlink < 2) return true;
  struct linked *l = malloc(sizeof *l + strlen(path) + 1);
  if (l == NULL) return false;
  *l = (struct linked){st->st_dev, st->st_ino, links[st->st_ino % buckets]};
  strcpy(l->path, path);
  links[st->st_ino % buckets] = l;
  return true;
}
