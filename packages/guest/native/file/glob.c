#include "glob.h"

#include <stddef.h>
#include <string.h>

enum { steps_max = 100000, depth_max = 64 };

struct matcher {
  bool braces;
  unsigned steps;
};

static bool match(struct matcher *m, const char *p, const char *s, int depth);

/* One character class at p ("[" passed); gives the end of it, or NULL when it is not closed. */
static const char *match_class(const char *p, char c, bool *matched) {
  bool negated = *p == '!' || *p == '^';
  if (negated) p++;
  *matched = false;
  bool first = true;
  while (*p != 0 && (*p != ']' || first)) {
    first = false;
    if (*p == '\\' && p[1] != 0) p++;
    unsigned char low = (unsigned char)*p++, high = low;
    if (*p == '-' && p[1] != 0 && p[1] != ']') {
      p++;
      if (*p == '\\' && p[1] != 0) p++;
      high = (unsigned char)*p++;
    }
    if ((unsigned char)c >= low && (unsigned char)c <= high) *matched = true;
  }
  if (*p != ']') return NULL;
  if (negated) *matched = !*matched;
  return p + 1;
}

/* The end of the alternative that begins at p, at a ',' or the closing '}' of the same level; NULL when not closed. */
static const char *alternative_end(const char *p) {
  int level = 0;
  for (; *p != 0; p++) {
    if (*p == '\\' && p[1] != 0) p++;
    else if (*p == '{') level++;
    else if (*p == '}' && level-- == 0) return p;
    else if (*p == ',' && level == 0) return p;
  }
  return NULL;
}

static const char *closing(const char *p) {
  const char *end;
  while ((end = alternative_end(p)) != NULL && *end == ',') p = end + 1;
  return end;
}

/* Each alternative, then what follows the braces. Joined in a buffer: patterns are at most 1,024 bytes. */
static bool match_braces(struct matcher *m, const char *p, const char *s, int depth) {
  const char *close = closing(p);
  char joined[2048];
  size_t rest = strlen(close + 1);
  for (const char *at = p;;) {
    const char *end = alternative_end(at);
    size_t size = (size_t)(end - at);
    if (size + rest + 1 <= sizeof joined) {
      memcpy(joined, at, size);
      memcpy(joined + size, close + 1, rest + 1);
      if (match(m, joined, s, depth + 1)) return true;
    }
    if (*end == '}') return false;
    at = end + 1;
  }
}

/* "**" at p: any number of whole components, when it stands as one; else like '*'. */
static bool match_deep(struct matcher *m, const char *p, const char *s, int depth) {
  const char *rest = p + 2;
  if (*rest == '/') {
    for (const char *at = s; at != NULL; at = strchr(at, '/') == NULL ? NULL : strchr(at, '/') + 1) {
      if (match(m, rest + 1, at, depth + 1)) return true;
      if (m->steps > steps_max) return false;
    }
    return false;
  }
  for (const char *at = s;; at++) {
    if (match(m, rest, at, depth + 1)) return true;
    if (*at == 0 || m->steps > steps_max) return false;
  }
}

static bool match(struct matcher *m, const char *p, const char *s, int depth) {
  const char *star = NULL, *star_s = NULL;
  if (depth > depth_max) return false;
  const char *begin = p;
  for (;;) {
    if (++m->steps > steps_max) return false;
    bool component = p == begin || p[-1] == '/';
    if (p[0] == '*' && p[1] == '*' && component && (p[2] == '/' || p[2] == 0)) {
      if (match_deep(m, p, s, depth)) return true;
    } else if (p[0] == '{' && m->braces && closing(p + 1) != NULL) {
      if (match_braces(m, p + 1, s, depth)) return true;
    } else if (p[0] == '*') {
      star = ++p;
      star_s = s;
      continue;
    } else if (p[0] == 0) {
      if (*s == 0) return true;
    } else if (*s != 0) {
      bool same = false;
      const char *next = p + 1;
      if (p[0] == '?') same = *s != '/';
      else if (p[0] == '[') {
        const char *end = match_class(p + 1, *s, &same);
        if (end == NULL) same = *s == '[';
        else next = end;
        if (*s == '/') same = false;
      } else if (p[0] == '\\' && p[1] != 0) {
        same = p[1] == *s;
        next = p + 2;
      } else {
        same = p[0] == *s;
      }
      if (same) {
        p = next;
        s++;
        continue;
      }
    }
    /* Back to the last star, which takes one more character; it never takes a slash. */
    if (star == NULL || *star_s == 0 || *star_s == '/') return false;
    s = ++star_s;
    p = star;
  }
}

bool glob_match(const char *pattern, const char *path, bool braces) {
  struct matcher m = {.braces = braces, .steps = 0};
  return match(&m, pattern, path, 0);
}
