/*
 * Mutates the corpus with a seeded generator and feeds it to what reads bytes of others: the frame and message decoder,
 * the paths and headers of archives, globs and ignore files. Built with sanitizers; a fault ends it with the input's seed.
 *
 *     guest-fuzz FOLDER SECONDS SEED
 *
 * Each file of the folder is one seed; the first letter of its name says whose: d decoder, t tar, g glob, i ignore file.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../file/glob.h"
#include "../file/ignore.h"
#include "../file/tar.h"
#include "../wire/deep-decode.h"

enum { seeds_max = 512, input_max = 64 * 1024 };

struct seed {
  char kind;
  size_t size;
  uint8_t *bytes;
};

static struct seed seeds[seeds_max];
static size_t seed_count;
static uint64_t state;

static uint64_t next_random(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static void feed_tar(const uint8_t *at, size_t size) {
  static struct tar_member member;
  bool zero;
  for (size_t i = 0; i + tar_block <= size; i += tar_block)
    if (tar_decode(at + i, &member, &zero) && !zero) tar_clean_path(member.path);
  tar_apply_pax(&member, (const char *)at, size);
  char path[path_bytes];
  size_t length = size < sizeof path - 1 ? size : sizeof path - 1;
  memcpy(path, at, length);
  path[length] = 0;
  if (tar_clean_path(path) && (path[0] == '/' || strstr(path, "//") != NULL)) abort();
}

static void feed_text(char kind, const uint8_t *at, size_t size) {
  char *text = malloc(size + 1);
  memcpy(text, at, size);
  text[size] = 0;
  if (kind == 'g') {
    /* Pattern and path, one on each line. */
    char *path = strchr(text, '\n');
    if (path != NULL) *path++ = 0;
    if (strlen(text) <= 1024) glob_match(text, path == NULL ? "" : path, (size & 1) != 0);
  } else {
    struct ignore ignore = {.base = 0};
    ignore_parse(&ignore, text);
    ignore_matches(&ignore, "a/b.c", false);
    ignore_free(&ignore);
  }
  free(text);
}

static void feed(char kind, const uint8_t *at, size_t size) {
  /* Exactly as large as it is, so that one byte beyond is seen. */
  uint8_t *copy = malloc(size == 0 ? 1 : size);
  memcpy(copy, at, size);
  if (kind == 'd') deep_decode(copy, size);
  else if (kind == 't') feed_tar(copy, size);
  else feed_text(kind, copy, size);
  free(copy);
}

static size_t mutate(uint8_t *at, size_t size) {
  static const uint8_t odd[] = {0, 1, 0x7f, 0x80, 0xff, '/', '.', '*', '{', '[', 0xc0, 0xed};
  for (uint64_t changes = next_random() % 6; changes > 0 && size > 0; changes--) {
    size_t place = next_random() % size;
    switch (next_random() % 5) {
      case 0:
        at[place] ^= (uint8_t)(1 << next_random() % 8);
        break;
      case 1:
        at[place] = odd[next_random() % sizeof odd];
        break;
      case 2:
        size = place;
        break;
      case 3: {
        size_t part = next_random() % (size - place) + 1;
        if (size + part > input_max) break;
        memmove(at + place + part, at + place, size - place);
        size += part;
        break;
      }
      default: {
        const struct seed *other = &seeds[next_random() % seed_count];
        size_t part = other->size < input_max - place ? other->size : input_max - place;
        memcpy(at + place, other->bytes, part);
        if (place + part > size) size = place + part;
      }
    }
  }
  return size;
}

static void load(const char *folder) {
  DIR *directory = opendir(folder);
  struct dirent *entry;
  while (directory != NULL && seed_count < seeds_max && (entry = readdir(directory)) != NULL) {
    char path[1024];
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) continue;
    struct seed *seed = &seeds[seed_count++];
    seed->kind = entry->d_name[0];
    seed->bytes = malloc(input_max);
    seed->size = fread(seed->bytes, 1, input_max, file);
    fclose(file);
  }
  if (directory != NULL) closedir(directory);
}

int main(int argc, char **argv) {
  static uint8_t input[input_max];
  if (argc != 4) return 2;
  load(argv[1]);
  if (seed_count == 0) return 2;
  state = strtoull(argv[3], NULL, 10) * 2654435761u + 88172645463325252ull;
  time_t end = time(NULL) + atoi(argv[2]);
  uint64_t runs = 0;
  for (size_t i = 0; i < seed_count; i++) feed(seeds[i].kind, seeds[i].bytes, seeds[i].size);
  while (time(NULL) < end) {
    for (int i = 0; i < 1000; i++, runs++) {
      const struct seed *seed = &seeds[next_random() % seed_count];
      memcpy(input, seed->bytes, seed->size);
      feed(seed->kind, input, mutate(input, seed->size));
    }
  }
  printf("%llu inputs\n", (unsigned long long)runs);
  return 0;
}
