#include <string.h>

#include "../file/glob.h"
#include "../file/ignore.h"
#include "guest-test.h"

static void globs_match_as_written(void) {
  CHECK(glob_match("*.c", "a.c", true));
  CHECK(!glob_match("*.c", "d/a.c", true));
  CHECK(glob_match("**/*.c", "a.c", true));
  CHECK(glob_match("**/*.c", "d/e/a.c", true));
  CHECK(glob_match("d/**", "d/e/a.c", true));
  CHECK(!glob_match("d/**", "e/a.c", true));
  CHECK(glob_match("a/**/z", "a/z", true));
  CHECK(glob_match("a/**/z", "a/b/c/z", true));
  CHECK(glob_match("{a,b{c,d}}x", "bdx", true));
  CHECK(!glob_match("{a,b}x", "cx", true));
  CHECK(glob_match("{a,b}", "{a,b}", false));
  CHECK(glob_match("[a-c]?[!x]", "bqz", true));
  CHECK(!glob_match("[!a]", "/", true));
  CHECK(glob_match("\\*", "*", true));
  CHECK(glob_match("[", "[", true));
  CHECK(glob_match("*", "", true));
  CHECK(glob_match("", "", true));
}

static void a_wicked_glob_ends(void) {
  char path[4000];
  memset(path, 'a', sizeof path - 1);
  path[sizeof path - 1] = 0;
  CHECK(!glob_match("**/{a,a*}*{a,a*}*{a,a*}*{a,a*}*{a,a*}*b", path, true));
}

static bool ignored(const char *rules, const char *path, bool directory) {
  char text[256];
  struct ignore ignore = {.base = 0};
  strcpy(text, rules);
  ignore_parse(&ignore, text);
  bool result = ignore_matches(&ignore, path, directory);
  ignore_free(&ignore);
  return result;
}

static void ignore_files_speak_as_git_does(void) {
  CHECK(ignored("*.o\n", "a/b.o", false));
  CHECK(!ignored("/a.o\n", "d/a.o", false));
  CHECK(ignored("/a.o", "a.o", false));
  CHECK(ignored("build/\n", "build", true));
  CHECK(!ignored("build/\n", "build", false));
  CHECK(!ignored("*.o\n!keep.o\n", "keep.o", false));
  CHECK(!ignored("# *.o\n\n", "a.o", false));
  CHECK(ignored("doc/*.txt\r\n", "doc/a.txt", false));
  CHECK(!ignored("doc/*.txt", "doc/sub/a.txt", false));
  CHECK(ignored("**/x\n", "a/b/x", false));
}

void test_patterns(void) {
  globs_match_as_written();
  a_wicked_glob_ends();
  ignore_files_speak_as_git_does();
}
