#include <string.h>

#include "../guest/ring.h"
#include "guest-test.h"

static size_t fill(struct ring *ring, size_t size) {
  size_t done = 0;
  while (done < size) {
    size_t room;
    uint8_t *at = ring_room(ring, &room);
    if (at == NULL) break;
    if (room > size - done) room = size - done;
    for (size_t i = 0; i < room; i++) at[i] = (uint8_t)((ring->end + i) % 251);
    ring_add(ring, room);
    done += room;
  }
  return done;
}

static bool holds(const struct ring *ring) {
  struct slice pieces[2];
  uint64_t offset = ring->start;
  size_t size = ring_read(ring, offset, (size_t)(ring->end - ring->start), pieces);
  if (size != ring->end - ring->start) return false;
  for (int k = 0; k < 2; k++)
    for (size_t i = 0; i < pieces[k].size; i++, offset++)
      if (pieces[k].at[i] != (uint8_t)(offset % 251)) return false;
  return true;
}

static void a_ring_grows_to_its_maximum_and_then_waits(void) {
  struct ring ring = {.max = 100000};
  CHECK(fill(&ring, 1000000) == 100000);
  CHECK(holds(&ring) && ring.start == 0);
  ring.floor = 30000;
  CHECK(fill(&ring, 1000000) == 30000);
  CHECK(holds(&ring) && ring.start == 30000);
  ring_free(&ring);
  CHECK(ring_total() == 0);
}

static void a_ring_that_may_drop_keeps_the_newest(void) {
  struct ring ring = {.max = 8192};
  for (int i = 0; i < 100; i++) {
    ring.floor = ring.end;
    CHECK(fill(&ring, 777) == 777);
    CHECK(holds(&ring));
  }
  CHECK(ring.end == 77700 && ring.end - ring.start == 8192);
  ring_free(&ring);
}

static void last_words_find_room_beyond_the_maximum(void) {
  struct ring ring = {.max = 4096};
  CHECK(fill(&ring, 5000) == 4096);
  CHECK(ring_make_room(&ring, 3000));
  CHECK(fill(&ring, 3000) == 3000);
  CHECK(holds(&ring) && ring.start == 0);
  ring_free(&ring);
}

void test_ring(void) {
  a_ring_grows_to_its_maximum_and_then_waits();
  a_ring_that_may_drop_keeps_the_newest();
  last_words_find_room_beyond_the_maximum();
}
