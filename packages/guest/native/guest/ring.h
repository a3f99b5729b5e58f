/*
 * The newest output of one stream of a process, addressed by offset from the first byte the process ever wrote.
 *
 * Laws
 * - `end - start` bytes are kept; `start` never passes `floor`, the first byte that must not be lost.
 * - It grows as needed to its own maximum, as long as all rings together stay within ringTotal; then it keeps its size.
 * - Its pages are not given to forked children: they are the guest's alone, and copying their tables would slow a spawn.
 */
#ifndef CAISSON_RING_H
#define CAISSON_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../wire/message.h"

struct ring {
  uint8_t *at;
  size_t capacity, max;
  uint64_t start, end, floor;
};

/* Bytes of all rings. */
size_t ring_total(void);
/* A contiguous place for the next bytes, of size *size; NULL when the ring is full. ring_add says how many came. */
uint8_t *ring_room(struct ring *ring, size_t *size);
void ring_add(struct ring *ring, size_t size);
/* Makes room for size more bytes whatever the maximum says: the last words of an ended process. */
bool ring_make_room(struct ring *ring, size_t size);
/* Up to max bytes from offset on, in two pieces. */
size_t ring_read(const struct ring *ring, uint64_t offset, size_t max, struct slice pieces[2]);
void ring_free(struct ring *ring);

#endif
