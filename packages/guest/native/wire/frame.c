#include "frame.h"

#include <stdbool.h>

#include "../protocol.h"
#include "bytes.h"

struct bounds {
  uint8_t type;
  bool connection;
  uint32_t min, max;
};

static const struct bounds table[] = {
  {CAISSON_FRAME_HELLO, true, 1, CAISSON_LIMIT_HANDSHAKE_PAYLOAD_MAX},
  {CAISSON_FRAME_WELCOME, true, 1, CAISSON_LIMIT_HANDSHAKE_PAYLOAD_MAX},
  {CAISSON_FRAME_REFUSE, true, 1, CAISSON_LIMIT_RESET_MAX},
  {CAISSON_FRAME_PING, true, 8, 8},
  {CAISSON_FRAME_PONG, true, 8, 8},
  {CAISSON_FRAME_GOAWAY, true, 1, CAISSON_LIMIT_RESET_MAX},
  {CAISSON_FRAME_OPEN, false, 1, CAISSON_LIMIT_PAYLOAD_MAX},
  {CAISSON_FRAME_RESULT, false, 0, CAISSON_LIMIT_RESULT_MAX},
  {CAISSON_FRAME_DATA, false, 1, CAISSON_LIMIT_PAYLOAD_MAX},
  {CAISSON_FRAME_WINDOW, false, 4, 4},
  {CAISSON_FRAME_END, false, 0, 0},
  {CAISSON_FRAME_RESET, false, 1, CAISSON_LIMIT_RESET_MAX},
};

static const struct bounds *find(uint8_t type) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (table[i].type == type) return &table[i];
  return NULL;
}

int frame_decode(const uint8_t *header, uint32_t payload_max, struct frame *out) {
  uint32_t length = load32(header), channel = load32(header + 8);
  const struct bounds *b = find(header[4]);
  *out = (struct frame){length, header[4], channel};
  if (b == NULL) {
    if (header[4] < CAISSON_FRAME_EXTENSION_BASE) return CAISSON_VIOLATION_UNKNOWN_FRAME;
    return length > payload_max ? CAISSON_VIOLATION_FRAME_TOO_LARGE : 0;
  }
  if (header[5] != 0 || header[6] != 0 || header[7] != 0) return CAISSON_VIOLATION_RESERVED_NOT_ZERO;
  if (length > b->max || length > payload_max) return CAISSON_VIOLATION_FRAME_TOO_LARGE;
  if (length < b->min) return CAISSON_VIOLATION_BAD_FRAME_LENGTH;
  if ((channel == 0) != b->connection) return CAISSON_VIOLATION_WRONG_SCOPE;
  return 0;
}

void frame_encode(uint8_t *header, uint8_t type, uint32_t channel, uint32_t length) {
  store32(header, length);
  store32(header + 4, type);
  store32(header + 8, channel);
}
