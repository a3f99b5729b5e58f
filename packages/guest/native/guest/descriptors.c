#include "descriptors.h"

#include <stdbool.h>
#include <stddef.h>

/* Four for each kept process and one for each channel, with room to spare. */
enum { wanted = 65536 };

static struct rlimit before;
static bool raised;

void descriptors_raise(void) {
  if (getrlimit(RLIMIT_NOFILE, &before) != 0 || before.rlim_cur >= wanted) return;
  struct rlimit more = before;
  more.rlim_cur = before.rlim_max < wanted ? before.rlim_max : wanted;
  raised = more.rlim_cur > before.rlim_cur && setrlimit(RLIMIT_NOFILE, &more) == 0;
}

const struct rlimit *descriptors_of_children(void) { return raised ? &before : NULL; }
