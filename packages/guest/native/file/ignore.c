#include "ignore.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "glob.h"

enum { file_max = 256 * 1024, rules_max = 4096, pattern_max = 1024 };

static void trim_end(char *line) {
  size_t size = strlen(line);
  while (size > 0 && (line[size - 1] == '\r' || (line[size - 1] == ' ' && (size < 2 || line[size - 2] != '\\'))))
    line[--size] = 0;
}

static void add_rule(struct ignore *ignore, char *line) {
  trim_end(line);
  if (line[0] == 0 || line[0] == '#' || ignore->count >= rules_max || strlen(line) > pattern_max) return;
  struct ignore_rule rule = {.negated = line[0] == '!'};
  if (rule.negated) line++;
  size_t size = strlen(line);
  rule.directories_only = size > 1 && line[size - 1] == '/';
  if (rule.directories_only) line[--size] = 0;
  /* A slash at the start or within ties the pattern to this directory. */
  rule.anchored = strchr(line, '/') != NULL;
  if (line[0] == '/') line++;
  if (line[0] == 0) return;
  struct ignore_rule *grown = realloc(ignore->rules, (ignore->count + 1) * sizeof *grown);
  if (grown == NULL) return;
  ignore->rules = grown;
  rule.pattern = strdup(line);
  if (rule.pattern != NULL) ignore->rules[ignore->count++] = rule;
}

void ignore_parse(struct ignore *ignore, char *text) {
  while (text != NULL && *text != 0) {
    char *end = strchr(text, '\n');
    if (end != NULL) *end = 0;
    add_rule(ignore, text);
    text = end == NULL ? NULL : end + 1;
  }
}

static void load_file(struct ignore *ignore, int directory, const char *name) {
  struct stat st;
  int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (fd < 0) return;
  char *text = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? malloc(file_max + 1) : NULL;
  ssize_t size = text == NULL ? -1 : read(fd, text, file_max);
  close(fd);
  if (size > 0) {
    text[size] = 0;
    ignore_parse(ignore, text);
  }
  free(text);
}

void ignore_load(struct ignore *ignore, int directory) {
  load_file(ignore, directory, ".gitignore");
  load_file(ignore, directory, ".ignore");
}

static bool rule_matches(const struct ignore_rule *rule, const char *path, bool is_directory) {
  if (rule->directories_only && !is_directory) return false;
  if (rule->anchored) return glob_match(rule->pattern, path, false);
  const char *slash = strrchr(path, '/');
  return glob_match(rule->pattern, slash == NULL ? path : slash + 1, false);
}

bool ignore_matches(const struct ignore *ignore, const char *path, bool is_directory) {
  for (; ignore != NULL; ignore = ignore->outer) {
    for (size_t i = ignore->count; i > 0; i--) {
      const struct ignore_rule *rule = &ignore->rules[i - 1];
      if (rule_matches(rule, path + ignore->base, is_directory)) return !rule->negated;
    }
  }
  return false;
}

void ignore_free(struct ignore *ignore) {
  for (size_t i = 0; i < ignore->count; i++) free(ignore->rules[i].pattern);
  free(ignore->rules);
  ignore->rules = NULL;
  ignore->count = 0;
}
