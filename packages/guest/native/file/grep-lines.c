#include "grep-lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
  text_max = 4096,
  context_max = 1024,
  contexts_max = 16,
  /* A longer line is searched only so far: a minified file must not make one match cost a second. */
  line_max = 64 * 1024,
};

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

bool search_open(struct search *s, struct slice params) {
  struct slice pattern = message_bytes(params, CAISSON_TAG_FILE_GREP_PATTERN);
  s->pattern = strndup((const char *)pattern.at, pattern.size);
  s->line = malloc(line_max + 1);
  if (s->pattern == NULL || s->line == NULL) {
    reply_error(ENOMEM, "no memory to search");
    return false;
  }
  s->pattern_size = pattern.size;
  s->fold = message_bool(params, CAISSON_TAG_FILE_GREP_IGNORE_CASE);
  s->extended = message_uint(params, CAISSON_TAG_FILE_GREP_SYNTAX, 1) == CAISSON_FILE_GREP_SYNTAX_EXTENDED;
  s->context = (unsigned)message_uint(params, CAISSON_TAG_FILE_GREP_CONTEXT_LINES, 0);
  s->max = message_uint(params, CAISSON_TAG_FILE_GREP_MAX_MATCHES, 1);
  s->max_per_file = message_uint(params, CAISSON_TAG_FILE_GREP_MAX_MATCHES_PER_FILE, UINT64_MAX);
  batch_open(&s->batch, CAISSON_TAG_GREP_BATCH_MATCHES, 1024);
  if (!s->extended) {
    for (size_t i = 0; s->fold && i < s->pattern_size; i++) s->pattern[i] = lower(s->pattern[i]);
    return true;
  }
  int failed = regcomp(&s->regex, s->pattern, REG_EXTENDED | (s->fold ? REG_ICASE : 0));
  if (failed != 0) {
    char why[128];
    regerror(failed, &s->regex, why, sizeof why);
    reply_code(CAISSON_ERROR_INVALID_ARGUMENT, EINVAL, "the pattern is not valid: %s", why);
    s->extended = false;
    search_close(s);
  }
  return failed == 0;
}

void search_close(struct search *s) {
  if (s->extended) regfree(&s->regex);
  free(s->pattern);
  free(s->line);
  s->pattern = s->line = NULL;
}

void search_flush(struct search *s) { batch_flush(&s->batch); }

static const char *find_folded(const struct search *s, const char *at, const char *end) {
  if ((size_t)(end - at) < s->pattern_size) return NULL;
  for (const char *last = end - s->pattern_size; at <= last; at++) {
    size_t i = 0;
    while (i < s->pattern_size && lower(at[i]) == s->pattern[i]) i++;
    if (i == s->pattern_size) return at;
  }
  return NULL;
}

/* The first match in the line; false when there is none. */
static bool match_line(struct search *s, const char *line, size_t size, size_t *start, size_t *end) {
  if (s->extended) {
    regmatch_t found;
    if (size > line_max) size = line_max;
    memcpy(s->line, line, size);
    s->line[size] = 0;
    if (regexec(&s->regex, s->line, 1, &found, 0) != 0) return false;
    *start = (size_t)found.rm_so;
    *end = (size_t)found.rm_eo;
    return true;
  }
  const char *at = s->fold ? find_folded(s, line, line + size) : memmem(line, size, s->pattern, s->pattern_size);
  if (at == NULL) return false;
  *start = (size_t)(at - line);
  *end = *start + s->pattern_size;
  return true;
}

static const char *line_end(const char *at, const char *end) {
  const char *newline = memchr(at, '\n', (size_t)(end - at));
  return newline == NULL ? end : newline;
}

/* A name must not hold NUL, which a line beyond the first 8 KiB may. */
static void write_line(struct writer *w, uint16_t tag, const char *at, const char *end, size_t max) {
  size_t size = (size_t)(end - at);
  if (size > max) size = max;
  const char *nul = memchr(at, 0, size);
  write_bytes(w, tag, at, nul == NULL ? size : (size_t)(nul - at));
}

struct found {
  const char *path, *line, *line_end;
  uint64_t number;
  size_t start, end;
};

static void write_match(struct search *s, const struct found *f, const char *text, const char *text_end) {
  struct writer *w = &s->batch.writer;
  write_bytes(w, CAISSON_TAG_GREP_MATCH_PATH, f->path, strlen(f->path));
  write_uint(w, CAISSON_TAG_GREP_MATCH_LINE, f->number);
  write_line(w, CAISSON_TAG_GREP_MATCH_TEXT, f->line, f->line_end, text_max);
  write_uint(w, CAISSON_TAG_GREP_MATCH_START, f->start);
  write_uint(w, CAISSON_TAG_GREP_MATCH_END, f->end);
  const char *before[contexts_max];
  unsigned count = 0;
  for (const char *at = f->line; count < s->context && at > text;) {
    const char *begin = at - 1;
    while (begin > text && begin[-1] != '\n') begin--;
    before[count++] = begin;
    at = begin;
  }
  for (; count > 0; count--)
    write_line(w, CAISSON_TAG_GREP_MATCH_BEFORE, before[count - 1], line_end(before[count - 1], text_end), context_max);
  const char *at = f->line_end;
  for (unsigned i = 0; i < s->context && at < text_end && at + 1 < text_end; i++) {
    const char *end = line_end(at + 1, text_end);
    write_line(w, CAISSON_TAG_GREP_MATCH_AFTER, at + 1, end, context_max);
    at = end;
  }
}

static uint64_t count_lines(const char *at, const char *end) {
  uint64_t count = 0;
  while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
    count++;
    at++;
  }
  return count;
}

void search_text(struct search *s, const char *path, const char *text, size_t size) {
  const char *end = text + size, *at = text;
  uint64_t number = 1, in_file = 0;
  bool literal = !s->extended && !s->fold;
  while (at < end && in_file < s->max_per_file) {
    if (literal) {
      /* Straight to the next place in the text, whichever line it is on. */
      const char *hit = memmem(at, (size_t)(end - at), s->pattern, s->pattern_size);
      if (hit == NULL) return;
      const char *begin = hit;
      while (begin > at && begin[-1] != '\n') begin--;
      number += count_lines(at, begin);
      at = begin;
    }
    struct found f = {.path = path, .line = at, .line_end = line_end(at, end), .number = number};
    if (match_line(s, at, (size_t)(f.line_end - at), &f.start, &f.end)) {
      if (s->matches == s->max) {
        s->stopped = true;
        return;
      }
      do {
        batch_item(&s->batch);
        write_match(s, &f, text, end);
      } while (!batch_end(&s->batch));
      s->matches++;
      in_file++;
    } else if (literal && memchr(s->pattern, '\n', s->pattern_size) != NULL) {
      return; /* a pattern that spans lines matches no line */
    }
    at = f.line_end + 1;
    number++;
  }
}
