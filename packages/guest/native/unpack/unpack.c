#include "unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { extended_max = 1024 * 1024 }; /* one pax header or long name */

struct unpack_counts unpack_counts;
static uint64_t entries_max = UINT64_MAX;

/* Names are bytes: what is not plain ASCII is shown as `?`, so that the answer is always valid JSON. */
static void put_text(const char *text) {
  putchar('"');
  for (const char *at = text; *at != 0; at++) {
    if (*at == '"' || *at == '\\') printf("\\%c", *at);
    else putchar(*at < 0x20 || *at > 0x7e ? '?' : *at);
  }
  putchar('"');
}

void unpack_fail(enum reason reason, int error, const char *format, ...) {
  static const char *const names[] = {"invalid", "truncated", "limit", "system"};
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  printf("{\"ok\":false,\"reason\":\"%s\",\"errno\":%d,\"message\":", names[reason], error);
  put_text(message);
  printf(",\"cause\":");
  put_text(error == 0 ? "" : strerror(error));
  puts("}");
  fflush(stdout);
  exit(1);
}

void unpack_count_entry(void) {
  if (++unpack_counts.entries > entries_max)
    unpack_fail(reason_limit, 0, "it has more than %llu entries", (unsigned long long)entries_max);
}

static void answer(void) {
  const struct unpack_counts *c = &unpack_counts;
  printf("{\"ok\":true,\"bytes\":%llu", (unsigned long long)input_bytes());
  const struct {
    const char *name;
    uint64_t value;
  } counts[] = {
    {"entries", c->entries},       {"files", c->files},         {"directories", c->directories},
    {"links", c->links},           {"symlinks", c->symlinks},   {"fifos", c->fifos},
    {"whiteouts", c->whiteouts},   {"opaque", c->opaque},       {"skippedDevices", c->skipped_devices},
    {"skippedAttributes", c->skipped_attributes},
  };
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    printf(",\"%s\":%llu", counts[i].name, (unsigned long long)counts[i].value);
  puts("}");
}

/* After this no path, however it is written, leads out of the folder. */
static void enter(const char *folder) {
  if (chdir(folder) != 0) unpack_fail(reason_system, errno, "cannot enter %s", folder);
  if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || chroot(".") != 0 ||
      chdir("/") != 0)
    unpack_fail(reason_system, errno, "cannot lock itself into %s", folder);
}

/* What extended headers say of the next member. */
struct extended {
  char *pax, *path, *link;
  size_t pax_size;
};

static void extended_clear(struct extended *e) {
  free(e->pax);
  free(e->path);
  free(e->link);
  *e = (struct extended){NULL, NULL, NULL, 0};
}

static uint64_t padding(uint64_t size) { return (tar_block - size % tar_block) % tar_block; }

static void read_extended(struct extended *e, const struct tar_member *m) {
  if (m->size > extended_max) unpack_fail(reason_limit, 0, "an extended header is larger than %d bytes", extended_max);
  char *text = malloc((size_t)m->size + 1);
  if (text == NULL) unpack_fail(reason_system, ENOMEM, "no memory");
  input_exactly(text, m->size);
  input_exactly(NULL, padding(m->size));
  text[m->size] = 0;
  char **place = m->type == 'x' ? &e->pax : m->type == 'L' ? &e->path : m->type == 'K' ? &e->link : NULL;
  if (place == NULL) {
    free(text); /* a global header: nothing in it that a tree needs */
    return;
  }
  free(*place);
  *place = text;
  if (m->type == 'x') e->pax_size = (size_t)m->size;
}

static void take_name(char to[path_bytes], const char *name) {
  if (name == NULL) return;
  if (strlen(name) >= path_bytes) unpack_fail(reason_invalid, 0, "a name is longer than %d bytes", path_bytes - 1);
  strcpy(to, name);
}

/* Only a file has content: of anything else the size in the header means nothing, as those who write layers have it. */
static bool has_content(const struct tar_member *m) { return m->type == '0' || m->type == '7'; }

static bool next_member(struct extended *e) {
  static struct tar_member m;
  uint8_t block[tar_block];
  bool zero;
  input_exactly(block, sizeof block);
  unsigned long long before = unpack_counts.entries;
  if (!tar_decode(block, &m, &zero)) unpack_fail(reason_invalid, 0, "a header is not valid after %llu members", before);
  if (zero) return false;
  /* Headers count too: an archive of nothing but them must end as well. */
  unpack_count_entry();
  if (strchr("xgLK", m.type) != NULL) {
    read_extended(e, &m);
    return true;
  }
  struct attributes attributes = {NULL, 0, 0, false, false};
  take_name(m.path, e->path);
  take_name(m.link, e->link);
  if (e->pax != NULL) {
    if (!tar_apply_pax(&m, e->pax, e->pax_size))
      unpack_fail(reason_invalid, 0, "an extended header is not valid at %s", m.path);
    attributes_read(&attributes, e->pax, e->pax_size);
  }
  uint64_t size = has_content(&m) ? m.size : 0;
  make_member(&m, &attributes);
  input_exactly(NULL, padding(size));
  extended_clear(e);
  return true;
}

static void unpack(void) {
  struct extended extended = {NULL, NULL, NULL, 0};
  while (next_member(&extended)) continue;
  extended_clear(&extended);
  /* What follows the end mark is padding, and belongs to the digest that our caller checks. */
  const uint8_t *rest;
  while (input_some(65536, &rest) > 0) continue;
  finish_directories();
  int root = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  /* A layer is never made again: it must be whole on the disk before its name says so. */
  if (root < 0 || syncfs(root) != 0) unpack_fail(reason_system, errno, "cannot write it to the disk");
  close(root);
}

static bool number(const char *text, uint64_t *out) {
  char *end;
  errno = 0;
  *out = strtoull(text, &end, 10);
  return text[0] >= '0' && text[0] <= '9' && *end == 0 && errno == 0;
}

int unpack_main(int argc, char **argv) {
  uint64_t value;
  if (argc < 1 || argv[0][0] == '-') return 2;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 >= argc || !number(argv[i + 1], &value)) return 2;
    if (strcmp(argv[i], "--max-bytes") == 0) input_limit(value);
    else if (strcmp(argv[i], "--max-entries") == 0) entries_max = value;
    else if (strcmp(argv[i], "--access-lists") == 0) attributes_keep_access_lists(value != 0);
    else return 2;
  }
  /* Who started it is the one who removes what it made: without them it ends too. */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  umask(0);
  enter(argv[0]);
  unpack();
  answer();
  return fflush(stdout) == 0 ? 0 : 1;
}
