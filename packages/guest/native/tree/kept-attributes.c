#include "kept-attributes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

bool attribute_is_access_list(const char *name) {
  return strcmp(name, "system.posix_acl_access") == 0 || strcmp(name, "system.posix_acl_default") == 0;
}

bool attribute_is_kept(const char *name) {
  if (strcmp(name, "security.capability") == 0 || attribute_is_access_list(name)) return true;
  return strncmp(name, "user.", 5) == 0 && strncmp(name, "user.overlay.", 13) != 0;
}

static int by_bytes(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

bool kept_attributes_read(int fd, struct kept_attributes *to) {
  to->count = 0;
  ssize_t size = flistxattr(fd, to->names, sizeof to->names);
  if (size < 0) return errno == ENOTSUP;
  for (const char *name = to->names; name < to->names + size; name += strlen(name) + 1) {
    if (!attribute_is_kept(name)) continue;
    if (to->count == sizeof to->at / sizeof *to->at) return errno = E2BIG, false;
    to->at[to->count++] = name;
  }
  if (to->count > 1) qsort(to->at, to->count, sizeof *to->at, by_bytes);
  return true;
}

bool overlay_attribute_is(int fd, const char *name, char value) {
  char found[2];
  return fgetxattr(fd, name, found, sizeof found) == 1 && found[0] == value;
}
