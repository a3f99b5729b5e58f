/*
 * The extended attributes that belong to the content of a tree: what programs wrote, capabilities, and access lists. The
 * rest steers an overlay, or is a label of the machine.
 */
#ifndef CAISSON_KEPT_ATTRIBUTES_H
#define CAISSON_KEPT_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

bool attribute_is_access_list(const char *name);
bool attribute_is_kept(const char *name);

enum { attribute_names_max = 65536, attribute_value_max = 65536 };

struct kept_attributes {
  char names[attribute_names_max];
  const char *at[1024]; /* in the order of their bytes */
  size_t count;
};

/* Those of an open file. False and errno; E2BIG when there are too many. */
bool kept_attributes_read(int fd, struct kept_attributes *to);
/* Whether an attribute of the overlay has this value. */
bool overlay_attribute_is(int fd, const char *name, char value);

#endif
