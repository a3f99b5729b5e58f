#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "request.h"

enum { value_max = 65536, names_max = 65536, items_max = 1024 };

static void attribute(struct slice params, uint16_t tag, char name[256]) {
  struct slice given = message_bytes(params, tag);
  memcpy(name, given.at, given.size); /* the table bounds it to 255 bytes */
  name[given.size] = 0;
}

static uint8_t *room(size_t size) {
  uint8_t *at = malloc(size);
  if (at == NULL) reply_error(ENOMEM, "no memory");
  return at;
}

void do_xattr_get(struct slice params) {
  char path[path_bytes], name[256];
  request_path(params, CAISSON_TAG_FILE_XATTR_GET_PATH, path);
  attribute(params, CAISSON_TAG_FILE_XATTR_GET_NAME, name);
  uint8_t *value = room(2 * value_max + 64);
  if (value == NULL) return;
  ssize_t size = getxattr(path, name, value, value_max);
  int error = errno;
  if (size >= 0) {
    struct writer w = writer_on(value + value_max, value_max + 64);
    write_bytes(&w, CAISSON_TAG_FILE_XATTR_VALUE, value, (size_t)size);
    reply_result(&w);
  } else {
    reply_error(error, name);
  }
  free(value);
}

void do_xattr_set(struct slice params) {
  char path[path_bytes], name[256];
  request_path(params, CAISSON_TAG_FILE_XATTR_SET_PATH, path);
  attribute(params, CAISSON_TAG_FILE_XATTR_SET_NAME, name);
  struct slice value = message_bytes(params, CAISSON_TAG_FILE_XATTR_SET_VALUE);
  if (setxattr(path, name, value.at, value.size, 0) != 0) return reply_error(errno, name);
  reply_nothing();
}

void do_xattr_remove(struct slice params) {
  char path[path_bytes], name[256];
  request_path(params, CAISSON_TAG_FILE_XATTR_REMOVE_PATH, path);
  attribute(params, CAISSON_TAG_FILE_XATTR_REMOVE_NAME, name);
  if (removexattr(path, name) != 0) return reply_error(errno, name);
  reply_nothing();
}

void do_xattr_list(struct slice params) {
  char path[path_bytes];
  request_path(params, CAISSON_TAG_FILE_XATTR_LIST_PATH, path);
  char *names = (char *)room(2 * names_max);
  if (names == NULL) return;
  ssize_t size = listxattr(path, names, names_max);
  if (size < 0) {
    reply_error(errno, path);
  } else {
    struct writer w = writer_on((uint8_t *)names + names_max, names_max - 64);
    int items = 0;
    for (ssize_t at = 0; at < size && items <= items_max; items++) {
      size_t length = strlen(names + at);
      write_bytes(&w, CAISSON_TAG_FILE_XATTRS_NAMES, names + at, length);
      at += (ssize_t)length + 1;
    }
    if (w.full || items > items_max) reply_error(E2BIG, path);
    else reply_result(&w);
  }
  free(names);
}
