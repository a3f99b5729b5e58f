/* The names in a directory, in the order of their bytes: whoever walks two trees meets them in step. */
#ifndef CAISSON_NAMES_H
#define CAISSON_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct names {
  char **list;
  size_t count;
  char *text;
};

/* Without "." and "..". False and errno, and then there is nothing to free. */
bool names_read(int directory, struct names *names);
void names_free(struct names *names);

#endif
