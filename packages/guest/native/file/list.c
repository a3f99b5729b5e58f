/* file.list and file.glob. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "batch.h"
#include "entry.h"
#include "glob.h"
#include "walk.h"

struct listing {
  struct walk walk;
  char pattern[1025]; /* empty: everything */
  uint64_t count, max;
  bool truncated;
};

static struct batch batch;

static enum walk_verdict on_node(struct walk *walk, int directory, const char *name, const char *path,
                                 const struct stat *st) {
  struct listing *l = (struct listing *)walk;
  if (l->pattern[0] != 0 && !glob_match(l->pattern, path, true)) return WALK_ON;
  if (l->count == l->max) {
    l->truncated = true;
    return WALK_STOP;
  }
  do {
    batch_item(&batch);
    write_entry(&batch.writer, path, st, directory, name);
  } while (!batch_end(&batch));
  l->count++;
  return WALK_ON;
}

static void run(struct listing *l, const char *path) {
  l->walk.visit = on_node;
  batch_open(&batch, CAISSON_TAG_ENTRY_BATCH_ENTRIES, 1024);
  int error = walk_tree(&l->walk, path);
  if (error != 0) return reply_error(error, path);
  batch_flush(&batch);
  uint8_t buffer[64];
  struct writer w = writer_on(buffer, sizeof buffer);
  write_uint(&w, CAISSON_TAG_CUT_COUNT, l->count);
  write_bool(&w, CAISSON_TAG_CUT_TRUNCATED, l->truncated);
  reply_result(&w);
}

void do_list(struct slice params) {
  char path[path_bytes];
  struct listing l = {.walk = {.hidden = true}};
  request_path(params, CAISSON_TAG_FILE_LIST_PATH, path);
  l.walk.depth = (unsigned)message_uint(params, CAISSON_TAG_FILE_LIST_DEPTH, 1);
  l.max = message_uint(params, CAISSON_TAG_FILE_LIST_MAX_ENTRIES, 1);
  run(&l, path);
}

void do_glob(struct slice params) {
  char path[path_bytes];
  struct listing l = {.walk = {.depth = UINT32_MAX}};
  request_path(params, CAISSON_TAG_FILE_GLOB_PATH, path);
  struct slice pattern = message_bytes(params, CAISSON_TAG_FILE_GLOB_PATTERN);
  memcpy(l.pattern, pattern.at, pattern.size);
  l.walk.hidden = message_bool(params, CAISSON_TAG_FILE_GLOB_HIDDEN);
  l.walk.ignore_files = message_bool(params, CAISSON_TAG_FILE_GLOB_IGNORE_FILES);
  l.max = message_uint(params, CAISSON_TAG_FILE_GLOB_MAX_ENTRIES, 1);
  run(&l, path);
}
