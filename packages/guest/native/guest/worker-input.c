/* Input of jobs in memory that the guest shares with their workers. */
#include <string.h>
#include <sys/mman.h>

#include "job.h"

enum {
  /* All of it together, of clients that send to workers that are behind or were stopped. */
  total_max = 32 * 1024 * 1024,
  /* When that is used up: a job gets this much, and what does not fit waits in the guest. */
  small_room = 64 * 1024,
};

static size_t total;

bool input_open_shared(struct worker_input *in) {
  /* Pages come as they are written to. */
  void *at = mmap(NULL, worker_input_max, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  *in = (struct worker_input){.at = at == MAP_FAILED ? NULL : at};
  return in->at != NULL;
}

void input_close_shared(struct worker_input *in) {
  input_over(in);
  if (in->at != NULL) munmap(in->at, worker_input_max);
  in->at = NULL;
}

void input_begin(struct worker_input *in) {
  in->room = total + worker_input_max <= total_max ? worker_input_max : small_room;
  in->end = in->used = 0;
  total += in->room;
}

void input_over(struct worker_input *in) {
  total -= in->room;
  in->room = in->end = in->used = 0;
}

uint8_t *input_place(struct worker_input *in, size_t *size) {
  /* From its beginning whenever it is empty: a small upload touches few pages, and a large one those that are warm. */
  if (in->used == 0) in->end = 0;
  *size = in->room - in->used;
  if (*size > in->room - in->end) *size = in->room - in->end;
  return *size == 0 ? NULL : in->at + in->end;
}

size_t input_put(struct worker_input *in, const uint8_t *bytes, size_t size, uint32_t *where) {
  size_t room;
  uint8_t *place = input_place(in, &room);
  if (size > room) size = room;
  if (size == 0) return 0;
  if (bytes != place) memcpy(place, bytes, size);
  *where = (uint32_t)in->end;
  in->end = (in->end + size) % in->room;
  in->used += size;
  return size;
}

void input_unput(struct worker_input *in, size_t size) {
  in->end = (in->end + in->room - size) % in->room;
  in->used -= size;
}

bool input_taken(struct worker_input *in, size_t size) {
  if (size > in->used) return false;
  in->used -= size;
  return true;
}
