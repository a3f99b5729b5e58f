/* The lines of one text that match. */
#ifndef CAISSON_GREP_LINES_H
#define CAISSON_GREP_LINES_H

#include <regex.h>

#include "batch.h"

struct search {
  char *pattern;
  size_t pattern_size;
  bool extended, fold;
  regex_t regex;
  unsigned context;
  uint64_t matches, max, max_per_file;
  bool stopped; /* maxMatches were found */
  char *line;   /* a copy with its NUL, for the regular expression */
  struct batch batch;
};

/* False after it has replied what is wrong with the pattern. */
bool search_open(struct search *search, struct slice params);
void search_text(struct search *search, const char *path, const char *text, size_t size);
void search_flush(struct search *search);
void search_close(struct search *search);

#endif
