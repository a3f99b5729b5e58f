#include "ring.h"

#include <string.h>
#include <sys/mman.h>

#include "../protocol.h"

enum { first_capacity = 16 * 1024 };

static size_t total;

size_t ring_total(void) { return total; }

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

static bool resize(struct ring *ring, size_t capacity) {
  uint8_t *grown = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (grown == MAP_FAILED) return false;
  madvise(grown, capacity, MADV_DONTFORK);
  struct slice pieces[2];
  size_t kept = ring_read(ring, ring->start, (size_t)(ring->end - ring->start), pieces);
  uint64_t offset = ring->start;
  for (int i = 0; i < 2 && kept > 0; i++) {
    for (size_t done = 0; done < pieces[i].size;) {
      size_t place = (size_t)(offset % capacity);
      size_t n = min_size(pieces[i].size - done, capacity - place);
      memcpy(grown + place, pieces[i].at + done, n);
      done += n;
      offset += n;
    }
  }
  if (ring->at != NULL) munmap(ring->at, ring->capacity);
  total = total - ring->capacity + capacity;
  ring->at = grown;
  ring->capacity = capacity;
  return true;
}

static bool grow(struct ring *ring) {
  size_t wanted = ring->capacity == 0 ? first_capacity : ring->capacity * 4;
  if (wanted > ring->max) wanted = ring->max;
  if (wanted <= ring->capacity) return false;
  if (total - ring->capacity + wanted > CAISSON_LIMIT_RING_TOTAL) {
    /* Everybody gets a page, or a process that started late could never be heard. */
    if (ring->capacity > 0) return false;
    wanted = CAISSON_LIMIT_RING_MIN;
  }
  return resize(ring, wanted);
}

uint8_t *ring_room(struct ring *ring, size_t *size) {
  /* Grow before anything is overwritten: a ring keeps as much as it may. */
  while (ring->end - ring->start >= ring->capacity && grow(ring)) continue;
  if (ring->capacity == 0) return NULL;
  uint64_t oldest = ring->floor > ring->start ? ring->floor : ring->start;
  size_t free_bytes = ring->capacity - (size_t)(ring->end - oldest);
  size_t place = (size_t)(ring->end % ring->capacity);
  *size = min_size(free_bytes, ring->capacity - place);
  return *size == 0 ? NULL : ring->at + place;
}

void ring_add(struct ring *ring, size_t size) {
  ring->end += size;
  if (ring->end - ring->start > ring->capacity) ring->start = ring->end - ring->capacity;
}

bool ring_make_room(struct ring *ring, size_t size) {
  uint64_t oldest = ring->floor > ring->start ? ring->floor : ring->start;
  size_t needed = (size_t)(ring->end - oldest) + size;
  if (needed <= ring->capacity) return true;
  needed = (needed + 4095) & ~(size_t)4095;
  if (needed > ring->max) ring->max = needed;
  return resize(ring, needed);
}

size_t ring_read(const struct ring *ring, uint64_t offset, size_t max, struct slice pieces[2]) {
  pieces[0] = pieces[1] = (struct slice){NULL, 0};
  if (ring->capacity == 0 || offset < ring->start || offset >= ring->end) return 0;
  size_t size = min_size(max, (size_t)(ring->end - offset));
  size_t place = (size_t)(offset % ring->capacity);
  size_t first = min_size(size, ring->capacity - place);
  pieces[0] = (struct slice){ring->at + place, first};
  pieces[1] = (struct slice){ring->at, size - first};
  return size;
}

void ring_free(struct ring *ring) {
  if (ring->at != NULL) munmap(ring->at, ring->capacity);
  total -= ring->capacity;
  ring->at = NULL;
  ring->capacity = 0;
}
