/*
 * Frames in. Data is handed on piece by piece as it arrives; every other frame is gathered whole first. The buffer holds
 * the largest frame, so a legal stream always fits, and an illegal one is refused by its header.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../wire/bytes.h"
#include "../wire/frame.h"
#include "connection.h"

enum {
  /* The largest frame with its header, and whole pages: they are given back by the page. */
  buffer_size = CAISSON_LIMIT_PAYLOAD_MAX + 64 * 1024,
  /* Then what came meanwhile from elsewhere has its turn: this much is a fraction of a millisecond. */
  turn_bytes = 1024 * 1024,
  /* More at once is bulk, which needs no quick answer. */
  small_bytes = 4096,
};

_Static_assert(buffer_size % 4096 == 0, "a page that is given back must hold nothing else");

static uint8_t buffer[buffer_size] __attribute__((aligned(4096)));
static size_t filled;
static size_t skip_left; /* payload of an extension */
static size_t data_left; /* payload of the data frame that is being handed on */
static uint32_t data_channel;
static bool data_discard;

void receive_reset(void) {
  filled = skip_left = data_left = 0;
  madvise(buffer, sizeof buffer, MADV_DONTNEED);
}

/* Gives the pages of the buffer back when nothing is in it. */
void receive_trim(void) {
  if (filled == 0) madvise(buffer, sizeof buffer, MADV_DONTNEED);
}

static bool stray(uint32_t id, uint8_t frame) {
  uint32_t last = id % 2 == 1 ? connection.last_peer_id : connection.last_own_id;
  if (id > last) connection_violation(CAISSON_VIOLATION_UNKNOWN_CHANNEL);
  else if (frame != CAISSON_FRAME_WINDOW && frame != CAISSON_FRAME_RESET)
    connection_violation(CAISSON_VIOLATION_CHANNEL_CLOSED);
  return false;
}

static void on_open(uint32_t id, struct slice payload) {
  int violation = message_check(&caisson_message_open, payload.at, payload.size);
  if (violation != 0) return connection_violation(violation);
  uint16_t number = (uint16_t)message_uint(payload, CAISSON_TAG_OPEN_METHOD, 0);
  bool input = message_bool(payload, CAISSON_TAG_OPEN_INPUT);
  struct slice params = message_bytes(payload, CAISSON_TAG_OPEN_PARAMS);
  if (id % 2 == 0 || id <= connection.last_peer_id || id > CAISSON_LIMIT_CHANNEL_ID_MAX)
    return connection_violation(CAISSON_VIOLATION_BAD_CHANNEL_ID);
  if (connection.open_by_peer >= CAISSON_LIMIT_CHANNELS_MAX)
    return connection_violation(CAISSON_VIOLATION_TOO_MANY_CHANNELS);
  const struct caisson_method *method = method_find(number);
  if (method != NULL && (method->guest_opens || method->input != input))
    return connection_violation(CAISSON_VIOLATION_WRONG_OPENER);
  violation = method == NULL ? 0 : message_check(method->params, params.at, params.size);
  if (violation != 0 && violation != CAISSON_VIOLATION_UNKNOWN_CRITICAL_FIELD) return connection_violation(violation);
  connection.last_peer_id = id;
  uint32_t window = (uint32_t)message_uint(payload, CAISSON_TAG_OPEN_WINDOW, connection.peer_window);
  struct channel *ch = channel_create(id, ACCEPTOR, method, input, CAISSON_LIMIT_WINDOW_INITIAL, window);
  if (ch == NULL) {
    /* Too little memory even for a refusal on the channel. */
    connection.closing = true;
    return;
  }
  method_begin begin = method == NULL ? NULL : method_handler(number);
  if (begin == NULL) channel_fail(ch, CAISSON_ERROR_UNKNOWN_METHOD, 0, "this guest has no method 0x%04x", number);
  else if (violation != 0) channel_fail(ch, CAISSON_ERROR_NOT_UNDERSTOOD, 0, "a must-understand field is not known");
  else begin(ch, params);
}

static void on_data_header(const struct frame *frame) {
  struct channel *ch = channel_find(frame->channel);
  if (ch == NULL) {
    stray(frame->channel, frame->type);
    return;
  }
  enum role peer = ch->role == OPENER ? ACCEPTOR : OPENER;
  int step = channel_step(&ch->state, peer, false, CAISSON_FRAME_DATA, frame->length);
  if (step > 0) return connection_violation(step);
  data_left = frame->length;
  data_channel = frame->channel;
  data_discard = step == STEP_DISCARD;
}

static size_t on_data_bytes(const uint8_t *at, size_t size) {
  if (size > data_left) size = data_left;
  data_left -= size;
  struct channel *ch = data_discard ? NULL : channel_find(data_channel);
  if (ch != NULL) {
    ch->held += (uint32_t)size;
    if (ch->ops != NULL && ch->ops->data != NULL) ch->ops->data(ch, at, size);
  }
  return size;
}

static void on_channel_frame(const struct frame *frame, struct slice payload) {
  if (frame->type == CAISSON_FRAME_OPEN) {
    on_open(frame->channel, payload);
    return;
  }
  struct channel *ch = channel_find(frame->channel);
  if (ch == NULL) {
    stray(frame->channel, frame->type);
    return;
  }
  if (frame->type == CAISSON_FRAME_RESET) {
    int violation = message_check(&caisson_message_reset, payload.at, payload.size);
    if (violation != 0) return connection_violation(violation);
  }
  if (frame->type == CAISSON_FRAME_RESULT && ch->method != NULL) {
    int violation = message_check(ch->method->result, payload.at, payload.size);
    if (violation != 0) return connection_violation(violation);
  }
  uint32_t size = frame->type == CAISSON_FRAME_WINDOW ? load32(payload.at) : 0;
  enum role peer = ch->role == OPENER ? ACCEPTOR : OPENER;
  int step = channel_step(&ch->state, peer, false, frame->type, size);
  if (step > 0) return connection_violation(step);
  if (step == STEP_OK) {
    channel_received(ch, frame->type, payload);
    return;
  }
  /* Discarded: its content is of no use, but it may have ended the channel. */
  if (channel_over(&ch->state)) channel_received(ch, CAISSON_FRAME_END, payload);
}

static void on_connection_frame(const struct frame *frame, struct slice payload) {
  switch (frame->type) {
    case CAISSON_FRAME_PING:
      pong_queue(payload.at);
      return;
    case CAISSON_FRAME_PONG:
      if (!connection.ping_unanswered) return connection_violation(CAISSON_VIOLATION_UNEXPECTED_PONG);
      connection.ping_unanswered = false;
      return;
    case CAISSON_FRAME_GOAWAY: {
      int violation = message_check(&caisson_message_goaway, payload.at, payload.size);
      if (violation != 0) return connection_violation(violation);
      connection.goaway_received = true;
      return;
    }
    default:
      connection_violation(CAISSON_VIOLATION_HANDSHAKE_ORDER);
  }
}

static void on_frame(const struct frame *frame, struct slice payload) {
  if (!connection.established) handshake_frame(frame->type, payload);
  else if (frame->channel == 0) on_connection_frame(frame, payload);
  else on_channel_frame(frame, payload);
}

/* What was consumed of the bytes; stops at a frame that is not whole yet. */
static size_t parse(const uint8_t *at, size_t size) {
  size_t used = 0;
  while (used < size && !connection.closing) {
    if (skip_left > 0) {
      size_t n = skip_left < size - used ? skip_left : size - used;
      skip_left -= n;
      used += n;
      continue;
    }
    if (data_left > 0) {
      used += on_data_bytes(at + used, size - used);
      continue;
    }
    if (size - used < CAISSON_LIMIT_HEADER_BYTES) break;
    struct frame frame;
    uint32_t max = connection.established ? CAISSON_LIMIT_PAYLOAD_MAX : CAISSON_LIMIT_HANDSHAKE_PAYLOAD_MAX;
    int violation = frame_decode(at + used, max, &frame);
    if (violation == 0 && !connection.established && frame.type >= CAISSON_FRAME_EXTENSION_BASE)
      violation = CAISSON_VIOLATION_HANDSHAKE_ORDER;
    if (violation != 0) {
      connection_violation(violation);
      break;
    }
    if (frame.type >= CAISSON_FRAME_EXTENSION_BASE) {
      skip_left = frame.length;
      used += CAISSON_LIMIT_HEADER_BYTES;
      continue;
    }
    if (frame.type == CAISSON_FRAME_DATA && connection.established) {
      used += CAISSON_LIMIT_HEADER_BYTES;
      on_data_header(&frame);
      continue;
    }
    if (size - used - CAISSON_LIMIT_HEADER_BYTES < frame.length) break;
    struct slice payload = {at + used + CAISSON_LIMIT_HEADER_BYTES, frame.length};
    used += CAISSON_LIMIT_HEADER_BYTES + frame.length;
    on_frame(&frame, payload);
  }
  return used;
}

/* Where the rest of the data frame that is being read goes at once, so that bulk is copied once less. */
static uint8_t *place_of_data(size_t *size) {
  struct channel *ch = filled > 0 || data_left == 0 || data_discard ? NULL : channel_find(data_channel);
  uint8_t *place = ch == NULL || ch->ops == NULL || ch->ops->place == NULL ? NULL : ch->ops->place(ch, size);
  if (place == NULL) *size = 0;
  else if (*size > data_left) *size = data_left;
  return place;
}

void receive_ready(void) {
  if (connection.greeting) return relay_greeted();
  for (size_t total = 0; total < turn_bytes && !connection.closing;) {
    size_t placed;
    uint8_t *place = place_of_data(&placed);
    /* Behind it only the next header, or the frame that follows would come the long way. */
    size_t room = place == NULL ? sizeof buffer - filled : CAISSON_LIMIT_HEADER_BYTES;
    struct iovec pieces[2] = {{place, placed}, {buffer + filled, room}};
    ssize_t n = place == NULL ? read(connection_in(), buffer + filled, room) : readv(connection_in(), pieces, 2);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
      connection.closing = true;
      return;
    }
    connection.heard_at = loop_now();
    connection.asked = (size_t)n <= small_bytes;
    room += placed;
    bool more = (size_t)n == room;
    total += (size_t)n;
    if (placed > (size_t)n) placed = (size_t)n;
    if (placed > 0) on_data_bytes(place, placed);
    filled += (size_t)n - placed;
    size_t used = parse(buffer, filled);
    filled -= used;
    if (filled > 0 && used > 0) memmove(buffer, buffer + used, filled);
    if (!more) return;
  }
}
