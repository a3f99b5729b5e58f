#include "deep-decode.h"

#include "frame.h"
#include "message.h"

static const struct caisson_message *message_of(uint8_t type) {
  switch (type) {
    case CAISSON_FRAME_HELLO:
      return &caisson_message_hello;
    case CAISSON_FRAME_WELCOME:
      return &caisson_message_welcome;
    case CAISSON_FRAME_REFUSE:
      return &caisson_message_refuse;
    case CAISSON_FRAME_GOAWAY:
      return &caisson_message_goaway;
    case CAISSON_FRAME_OPEN:
      return &caisson_message_open;
    case CAISSON_FRAME_RESET:
      return &caisson_message_reset;
    case CAISSON_FRAME_RESULT:
      return &caisson_message_exit_status;
    default:
      return NULL;
  }
}

static int decode_payload(uint8_t type, struct slice payload) {
  const struct caisson_message *def = message_of(type);
  int violation = def == NULL ? 0 : message_check(def, payload.at, payload.size);
  if (violation != 0 || type != CAISSON_FRAME_OPEN) return violation;
  uint64_t number = message_uint(payload, CAISSON_TAG_OPEN_METHOD, 0);
  struct slice params = message_bytes(payload, CAISSON_TAG_OPEN_PARAMS);
  for (size_t i = 0; i < sizeof caisson_methods / sizeof *caisson_methods; i++)
    if (caisson_methods[i].number == number) return message_check(caisson_methods[i].params, params.at, params.size);
  return 0;
}

int deep_decode(const uint8_t *at, size_t size) {
  while (size > 0) {
    struct frame frame;
    if (size < CAISSON_LIMIT_HEADER_BYTES) return CAISSON_VIOLATION_TRUNCATED;
    int violation = frame_decode(at, CAISSON_LIMIT_PAYLOAD_MAX, &frame);
    if (violation != 0) return violation;
    at += CAISSON_LIMIT_HEADER_BYTES;
    size -= CAISSON_LIMIT_HEADER_BYTES;
    if (size < frame.length) return CAISSON_VIOLATION_TRUNCATED;
    violation = decode_payload(frame.type, (struct slice){at, frame.length});
    if (violation != 0) return violation;
    at += frame.length;
    size -= frame.length;
  }
  return 0;
}
