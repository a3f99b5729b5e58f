/* What pax headers say of a member beyond its header: nanoseconds and extended attributes. */
#include <errno.h>
#include <string.h>
#include <sys/xattr.h>

#include "../tree/kept-attributes.h"
#include "unpack.h"

/* What every filesystem keeps for one file. */
enum { attributes_safe_bytes = 2048 };

static bool keeps_access_lists;

void attributes_keep_access_lists(bool keep) { keeps_access_lists = keep; }

static const char prefix[] = "SCHILY.xattr.";

struct record {
  const char *key, *value;
  size_t key_size, value_size;
};

/* The next "length key=value\n"; tar_apply_pax has checked their form. */
static bool next_record(const char *text, size_t size, size_t *at, struct record *r) {
  if (*at >= size || text[*at] == 0) return false;
  size_t length = 0, digits = *at;
  while (text[digits] >= '0' && text[digits] <= '9') length = length * 10 + (size_t)(text[digits++] - '0');
  r->key = text + digits + 1;
  const char *end = text + *at + length - 1;
  const char *equals = memchr(r->key, '=', (size_t)(end - r->key));
  r->key_size = (size_t)(equals - r->key);
  r->value = equals + 1;
  r->value_size = (size_t)(end - r->value);
  *at += length;
  return true;
}

static bool key_is(const struct record *r, const char *name) {
  return r->key_size == strlen(name) && memcmp(r->key, name, r->key_size) == 0;
}

static bool key_begins(const struct record *r, const char *name) {
  return r->key_size > strlen(name) && memcmp(r->key, name, strlen(name)) == 0;
}

static long nanoseconds(const struct record *r) {
  const char *point = memchr(r->value, '.', r->value_size);
  if (point == NULL) return 0;
  long value = 0, unit = 100000000;
  for (const char *at = point + 1; at < r->value + r->value_size && *at >= '0' && *at <= '9'; at++, unit /= 10)
    value += unit * (*at - '0');
  return value;
}

void attributes_read(struct attributes *a, const char *text, size_t size) {
  *a = (struct attributes){.text = text, .size = size};
  struct record r;
  for (size_t at = 0; next_record(text, size, &at, &r);) {
    if (key_is(&r, "mtime")) a->mtime_nanoseconds = nanoseconds(&r);
    if (key_is(&r, "CAISSON.literal")) {
      a->literal_path = r.value_size == 4 && memcmp(r.value, "path", 4) == 0;
      a->literal_folders = true;
    }
    if (key_begins(&r, "GNU.sparse.")) unpack_fail(reason_invalid, 0, "it has a sparse file, which layers must not have");
  }
}

/*
 * Only what belongs to the content of an image. `trusted.overlay.*` steers the overlay that the layer becomes part of,
 * and labels and lists of the machine that built the image mean nothing here.
 */
static bool is_kept(const char *name) {
  return attribute_is_kept(name) && (keeps_access_lists || !attribute_is_access_list(name));
}

/* What GNU tar writes for the two characters that a name cannot have in a record. False when it does not fit. */
static bool attribute_name(char to[256], const struct record *r) {
  const char *at = r->key + sizeof prefix - 1, *end = r->key + r->key_size;
  size_t used = 0;
  while (at < end) {
    char c = *at++;
    if (c == '%' && end - at >= 2 && (memcmp(at, "3D", 2) == 0 || memcmp(at, "25", 2) == 0)) {
      c = *at == '3' ? '=' : '%';
      at += 2;
    }
    if (c == 0 || used == 255) return false;
    to[used++] = c;
  }
  to[used] = 0;
  return true;
}

/* Too large, or not of the form that the kernel wants: the archive's doing. A filesystem with little room for attributes
 * says of a large one that the disk is full. */
static enum reason whose_fault(int error, size_t size) {
  if (error == ENOSPC) return size > attributes_safe_bytes ? reason_invalid : reason_system;
  return error == E2BIG || error == ERANGE || error == EINVAL ? reason_invalid : reason_system;
}

void attributes_apply(const struct attributes *a, int fd, const char *path) {
  if (a->text == NULL) return;
  struct record r;
  for (size_t at = 0; next_record(a->text, a->size, &at, &r);) {
    if (!key_begins(&r, prefix)) continue;
    char name[256];
    if (!attribute_name(name, &r)) unpack_fail(reason_invalid, 0, "an extended attribute of %s has no valid name", path);
    if (!is_kept(name)) {
      unpack_counts.skipped_attributes++;
    } else if (fsetxattr(fd, name, r.value, r.value_size, 0) != 0) {
      unpack_fail(whose_fault(errno, a->size), errno, "cannot set the attribute %s of %s", name, path);
    }
  }
}
