#include <string.h>

#include "../guest/job.h"
#include "guest-test.h"

/* Puts bytes that count up, as many as go; the other side is played here too. */
static size_t put(struct worker_input *in, uint8_t *next, size_t size, uint32_t *where) {
  static uint8_t bytes[worker_input_max];
  for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(*next + i);
  size_t n = input_put(in, bytes, size, where);
  *next = (uint8_t)(*next + n);
  return n;
}

static void test_order(void) {
  struct worker_input in;
  uint8_t next = 0, expected = 0;
  uint32_t where;
  CHECK(input_open_shared(&in));
  input_begin(&in);
  CHECK(in.room == worker_input_max);
  /* Sizes that divide nothing: the end of the memory is met at every place. */
  bool in_order = true, within = true;
  for (int round = 0; round < 200; round++) {
    size_t sizes[2] = {0, 0};
    uint32_t places[2] = {0, 0};
    for (int i = 0; i < 2; i++) sizes[i] = put(&in, &next, 30011 + (size_t)round * 997, &places[i]);
    for (int i = 0; i < 2; i++) {
      within = within && places[i] + sizes[i] <= worker_input_max;
      for (size_t k = 0; k < sizes[i]; k++) in_order = in_order && in.at[places[i] + k] == expected++;
    }
    /* One of them stays, so that it is never empty. */
    CHECK(input_taken(&in, round == 0 ? sizes[0] : in.used - sizes[1]));
  }
  CHECK(in_order && within);
  CHECK(!input_taken(&in, in.used + 1));
  CHECK(input_taken(&in, in.used));
  CHECK(put(&in, &next, 10, &where) == 10 && where == 0);
  input_unput(&in, 10);
  CHECK(in.used == 0);
  CHECK(put(&in, &next, worker_input_max, &where) == worker_input_max);
  CHECK(put(&in, &next, 1, &where) == 0);
  input_close_shared(&in);
}

static void test_share(void) {
  enum { many = 40 };
  struct worker_input ins[many];
  size_t total = 0;
  for (int i = 0; i < many; i++) {
    CHECK(input_open_shared(&ins[i]));
    input_begin(&ins[i]);
    CHECK(ins[i].room > 0);
    total += ins[i].room;
  }
  CHECK(ins[0].room == worker_input_max && ins[many - 1].room < worker_input_max);
  CHECK(total < (size_t)many * worker_input_max);
  for (int i = 0; i < many; i++) input_close_shared(&ins[i]);
  CHECK(input_open_shared(&ins[0]));
  input_begin(&ins[0]);
  CHECK(ins[0].room == worker_input_max);
  input_close_shared(&ins[0]);
}

void test_worker_input(void) {
  test_order();
  test_share();
}
