#include <stdlib.h>
#include <string.h>

#include "../file/tar.h"
#include "guest-test.h"

static bool cleans_to(const char *path, const char *wanted) {
  char copy[256];
  strcpy(copy, path);
  return tar_clean_path(copy) && strcmp(copy, wanted) == 0;
}

static void paths_of_members_stay_inside(void) {
  char out[] = "a/../../etc";
  CHECK(!tar_clean_path(out));
  char up[] = "..";
  CHECK(!tar_clean_path(up));
  CHECK(cleans_to("/etc/passwd", "etc/passwd"));
  CHECK(cleans_to("./a//b/./c/", "a/b/c"));
  CHECK(cleans_to("./", ""));
  CHECK(cleans_to("...", "..."));
}

static void a_member_survives_the_way_out_and_in(void) {
  struct tar_member *m = calloc(2, sizeof *m);
  uint8_t *blocks = calloc(32, tar_block);
  bool zero;
  m->type = '0';
  m->mode = 0751;
  m->uid = 3000000000u;
  m->gid = 7;
  m->size = (uint64_t)1 << 40;
  m->mtime = 1700000000;
  memset(m->path, 'p', 3000);
  size_t size = tar_encode(m, blocks);
  CHECK(size % tar_block == 0);
  CHECK(tar_decode(blocks, m + 1, &zero) && !zero && m[1].type == 'x');
  size_t records = (size_t)m[1].size;
  CHECK(tar_decode(blocks + size - tar_block, m + 1, &zero) && !zero);
  CHECK(tar_apply_pax(m + 1, (char *)blocks + tar_block, records));
  CHECK(m[1].size == m->size && m[1].uid == m->uid && m[1].gid == 7 && m[1].mode == 0751);
  CHECK(strcmp(m[1].path, m->path) == 0 && m[1].mtime == m->mtime);
  blocks[size - tar_block] ^= 1;
  CHECK(!tar_decode(blocks + size - tar_block, m + 1, &zero));
  CHECK(!tar_apply_pax(m, "99 path=x\n", 10));
  CHECK(!tar_apply_pax(m, "3 x\n", 4));
  free(m);
  free(blocks);
}

void test_tar(void) {
  paths_of_members_stay_inside();
  a_member_survives_the_way_out_and_in();
}
