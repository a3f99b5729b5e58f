#include "names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Names of one directory held at once: more would take all memory to sort. */
enum { names_max = 4000000 };

static int by_bytes(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* Names are kept as offsets until all are there: the text moves while it grows. */
static bool collect(DIR *directory, struct names *names) {
  size_t used = 0, room = 0, places = 0;
  struct dirent *entry;
  while ((errno = 0, entry = readdir(directory)) != NULL) {
    size_t size = strlen(entry->d_name) + 1;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (used + size > room) {
      room = room == 0 ? 4096 : room * 2;
      char *text = realloc(names->text, room);
      if (text == NULL) return false;
      names->text = text;
    }
    if (names->count == names_max) return errno = E2BIG, false;
    if (names->count == places) {
      places = places == 0 ? 256 : places * 2;
      char **list = realloc(names->list, places * sizeof *list);
      if (list == NULL) return false;
      names->list = list;
    }
    memcpy(names->text + used, entry->d_name, size);
    names->list[names->count++] = (char *)used;
    used += size;
  }
  return errno == 0;
}

bool names_read(int directory, struct names *names) {
  *names = (struct names){NULL, 0, NULL};
  int own = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *stream = own < 0 ? NULL : fdopendir(own);
  if (stream == NULL) {
    if (own >= 0) close(own);
    return false;
  }
  bool done = collect(stream, names);
  int error = errno;
  closedir(stream);
  if (!done) names_free(names);
  errno = error;
  for (size_t i = 0; i < names->count; i++) names->list[i] = names->text + (size_t)names->list[i];
  if (names->count > 1) qsort(names->list, names->count, sizeof *names->list, by_bytes);
  return done;
}

void names_free(struct names *names) {
  free(names->list);
  free(names->text);
  *names = (struct names){NULL, 0, NULL};
}
