/* The archive as it comes over stdin. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "unpack.h"

/* As much as a pipe holds at most by default limits; larger reads gain nothing. */
static uint8_t buffer[1024 * 1024];
static size_t filled, taken;
static uint64_t total, most = UINT64_MAX;

void input_limit(uint64_t bytes) { most = bytes; }

uint64_t input_bytes(void) { return total; }

size_t input_some(size_t size, const uint8_t **at) {
  if (taken == filled) {
    ssize_t n;
    do n = read(STDIN_FILENO, buffer, sizeof buffer);
    while (n < 0 && errno == EINTR);
    if (n < 0) unpack_fail(reason_system, errno, "cannot read the archive");
    taken = 0;
    filled = (size_t)n;
    total += (uint64_t)n;
    if (total > most) unpack_fail(reason_limit, 0, "it has more than %llu bytes", (unsigned long long)most);
  }
  size_t n = filled - taken < size ? filled - taken : size;
  *at = buffer + taken;
  taken += n;
  return n;
}

void input_exactly(void *to, uint64_t size) {
  uint8_t *place = to;
  while (size > 0) {
    const uint8_t *at;
    size_t n = input_some(size > sizeof buffer ? sizeof buffer : (size_t)size, &at);
    if (n == 0) unpack_fail(reason_truncated, 0, "it ends in the middle");
    if (place != NULL) {
      memcpy(place, at, n);
      place += n;
    }
    size -= n;
  }
}
