#include "temporary.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "request.h"

static int held_directory = -1;
static char held_name[32];

bool is_temporary(const char *name) { return strncmp(name, TEMPORARY_PREFIX, sizeof TEMPORARY_PREFIX - 1) == 0; }

void temporary_name(char name[32]) {
  uint64_t random = 0;
  if (getentropy(&random, sizeof random) != 0) random = (uint64_t)getpid();
  snprintf(name, 32, TEMPORARY_PREFIX "%016llx", (unsigned long long)random);
}

void temporary_made(int directory, const char *name) {
  held_directory = directory;
  snprintf(held_name, sizeof held_name, "%s", name);
  on_cancel(temporary_discard);
}

void temporary_discard(void) {
  if (held_directory >= 0) unlinkat(held_directory, held_name, 0);
  temporary_kept();
}

void temporary_kept(void) {
  held_directory = -1;
  on_cancel(NULL);
}
