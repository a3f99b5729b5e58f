/* .gitignore and .ignore of one directory, with those of the directories around it. The innermost that speaks decides. */
#ifndef CAISSON_IGNORE_H
#define CAISSON_IGNORE_H

#include <stdbool.h>
#include <stddef.h>

struct ignore_rule {
  char *pattern;
  bool negated, directories_only, anchored;
};

struct ignore {
  const struct ignore *outer;
  size_t base; /* length of the path of its directory, with its slash */
  struct ignore_rule *rules;
  size_t count;
};

void ignore_load(struct ignore *ignore, int directory);
/* One file's text; for ignore_load, and for tests. The text is changed. */
void ignore_parse(struct ignore *ignore, char *text);
bool ignore_matches(const struct ignore *ignore, const char *path, bool is_directory);
void ignore_free(struct ignore *ignore);

#endif
