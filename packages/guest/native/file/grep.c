/* file.grep: the files, and what of them is searched. One file's lines are in grep-lines.c. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "glob.h"
#include "grep-lines.h"
#include "walk.h"

enum { globs_max = 512, sniff_bytes = 8192 };

struct grep {
  struct walk walk;
  struct search search;
  char *include[globs_max / 2], *exclude[globs_max / 2];
  size_t include_count, exclude_count;
  uint64_t max_file_bytes, searched, skipped;
};

static struct grep grep;
static sigjmp_buf truncated;

/* A file that shrinks under the search: its mapping has no page where it ends now. */
static void on_bus_error(int signal) {
  (void)signal;
  siglongjmp(truncated, 1);
}

static bool any(char **globs, size_t count, const char *path) {
  const char *slash = strrchr(path, '/');
  for (size_t i = 0; i < count; i++) {
    if (glob_match(globs[i], path, true)) return true;
    /* A glob without a slash speaks of the name, wherever it lies. */
    if (strchr(globs[i], '/') == NULL && slash != NULL && glob_match(globs[i], slash + 1, true)) return true;
  }
  return false;
}

/* `follow` is 0 or O_NOFOLLOW. */
static bool search_file(int directory, const char *name, const char *path, int follow) {
  struct stat st;
  int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | follow);
  if (fd < 0) return false;
  bool fits = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size <= grep.max_file_bytes;
  size_t size = fits ? (size_t)st.st_size : 0;
  const char *text = size == 0 ? NULL : mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (!fits || text == MAP_FAILED) return false;
  if (size == 0) return true;
  bool done = false;
  if (sigsetjmp(truncated, 1) == 0 && memchr(text, 0, size < sniff_bytes ? size : sniff_bytes) == NULL) {
    search_text(&grep.search, path, text, size);
    done = true;
  }
  munmap((void *)(uintptr_t)text, size);
  return done;
}

static enum walk_verdict on_node(struct walk *walk, int directory, const char *name, const char *path,
                                 const struct stat *st) {
  (void)walk;
  if (any(grep.exclude, grep.exclude_count, path)) return WALK_SKIP;
  if (!S_ISREG(st->st_mode)) return WALK_ON;
  if (grep.include_count > 0 && !any(grep.include, grep.include_count, path)) return WALK_ON;
  if (search_file(directory, name, path, O_NOFOLLOW)) grep.searched++;
  else grep.skipped++;
  return grep.search.stopped ? WALK_STOP : WALK_ON;
}

static size_t copy_globs(struct slice params, uint16_t tag, char **globs) {
  size_t count = 0, cursor = 0;
  struct slice item;
  while (count < globs_max / 2 && message_next(params, tag, &cursor, &item)) {
    globs[count] = strndup((const char *)item.at, item.size);
    if (globs[count] != NULL) count++;
  }
  return count;
}

static void finish(void) {
  search_flush(&grep.search);
  uint8_t buffer[128];
  struct writer w = writer_on(buffer, sizeof buffer);
  write_uint(&w, CAISSON_TAG_GREP_DONE_MATCHES, grep.search.matches);
  write_uint(&w, CAISSON_TAG_GREP_DONE_FILES_SEARCHED, grep.searched);
  write_uint(&w, CAISSON_TAG_GREP_DONE_FILES_SKIPPED, grep.skipped + grep.walk.unreadable);
  write_bool(&w, CAISSON_TAG_GREP_DONE_TRUNCATED, grep.search.stopped);
  reply_result(&w);
}

void do_grep(struct slice params) {
  char path[path_bytes];
  request_path(params, CAISSON_TAG_FILE_GREP_PATH, path);
  memset(&grep, 0, sizeof grep);
  if (!search_open(&grep.search, params)) return;
  signal(SIGBUS, on_bus_error);
  grep.include_count = copy_globs(params, CAISSON_TAG_FILE_GREP_INCLUDE, grep.include);
  grep.exclude_count = copy_globs(params, CAISSON_TAG_FILE_GREP_EXCLUDE, grep.exclude);
  grep.max_file_bytes = message_uint(params, CAISSON_TAG_FILE_GREP_MAX_FILE_BYTES, 0);
  grep.walk = (struct walk){.hidden = message_bool(params, CAISSON_TAG_FILE_GREP_HIDDEN),
                            .ignore_files = message_bool(params, CAISSON_TAG_FILE_GREP_IGNORE_FILES),
                            .depth = UINT32_MAX,
                            .visit = on_node};
  struct stat st;
  int error = fstatat(AT_FDCWD, path, &st, 0) == 0 ? 0 : errno;
  if (error == 0 && S_ISDIR(st.st_mode)) {
    error = walk_tree(&grep.walk, path);
  } else if (error == 0) {
    const char *slash = strrchr(path, '/');
    if (search_file(AT_FDCWD, path, slash == NULL ? path : slash + 1, 0)) grep.searched++;
    else grep.skipped++;
  }
  if (error != 0) reply_error(error, path);
  else finish();
  for (size_t i = 0; i < grep.include_count; i++) free(grep.include[i]);
  for (size_t i = 0; i < grep.exclude_count; i++) free(grep.exclude[i]);
  search_close(&grep.search);
}
