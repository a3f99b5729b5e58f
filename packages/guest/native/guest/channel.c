#include "channel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../wire/bytes.h"
#include "../wire/error-code.h"
#include "connection.h"

struct channel *channel_find(uint32_t id) {
  struct channel *ch = connection.by_id[(id >> 1) % channel_buckets];
  while (ch != NULL && ch->id != id) ch = ch->next_by_id;
  return ch;
}

struct channel *channel_create(uint32_t id, enum role role, const struct caisson_method *method, bool input,
                               uint32_t our_window, uint32_t peer_window) {
  struct channel *ch = calloc(1, sizeof *ch);
  if (ch == NULL) return NULL;
  ch->id = id;
  ch->role = role;
  ch->method = method;
  ch->receive_window = our_window;
  uint8_t output = method == NULL ? CAISSON_NONE : method->output;
  uint8_t answer = method == NULL ? CAISSON_ALONE : method->answer;
  if (role == ACCEPTOR) channel_begin(&ch->state, input, output, answer, our_window, peer_window);
  else channel_begin(&ch->state, input, output, answer, peer_window, our_window);
  struct channel **bucket = &connection.by_id[(id >> 1) % channel_buckets];
  ch->next_by_id = *bucket;
  *bucket = ch;
  if (role == ACCEPTOR) connection.open_by_peer++;
  else connection.open_by_us++;
  return ch;
}

static void destroy(struct channel *ch) {
  struct channel **link = &connection.by_id[(ch->id >> 1) % channel_buckets];
  while (*link != ch) link = &(*link)->next_by_id;
  *link = ch->next_by_id;
  if (ch->role == ACCEPTOR) connection.open_by_peer--;
  else connection.open_by_us--;
  transmit_unready(ch);
  if (ch->in_grants) {
    struct channel **grant = &connection.grants;
    while (*grant != ch) grant = &(*grant)->next_grant;
    *grant = ch->next_grant;
  }
  free(ch);
}

static void detach(struct channel *ch) {
  ch->ops = NULL;
  ch->owner = NULL;
  transmit_unready(ch);
  /* Nobody takes what is held any more: it has left the guest. */
  ch->held = 0;
}

static bool destroy_if_over(struct channel *ch) {
  if (!channel_over(&ch->state)) return false;
  destroy(ch);
  return true;
}

void channel_own(struct channel *ch, const struct channel_ops *ops, void *owner) {
  ch->ops = ops;
  ch->owner = owner;
}

static bool step_sent(struct channel *ch, uint8_t frame, uint32_t size) {
  return channel_step(&ch->state, ch->role, true, frame, size) <= 0;
}

typedef void (*transmit)(uint8_t type, uint32_t channel, const void *payload, size_t size);

static void answer(struct channel *ch, const struct writer *result, transmit send) {
  if (!step_sent(ch, CAISSON_FRAME_RESULT, 0)) return;
  send(CAISSON_FRAME_RESULT, ch->id, result == NULL ? NULL : result->at, result == NULL ? 0 : result->size);
  if (ch->method->answer == CAISSON_FIRST) return;
  detach(ch);
  destroy_if_over(ch);
}

void channel_answer(struct channel *ch, const struct writer *result) { answer(ch, result, transmit_frame); }
void channel_answer_later(struct channel *ch, const struct writer *result) { answer(ch, result, transmit_later); }
void channel_answer_nothing(struct channel *ch) { channel_answer(ch, NULL); }

static bool end(struct channel *ch, transmit send) {
  if (!step_sent(ch, CAISSON_FRAME_END, 0)) return false;
  send(CAISSON_FRAME_END, ch->id, NULL, 0);
  if (!channel_over(&ch->state)) return false;
  detach(ch);
  destroy(ch);
  return true;
}

bool channel_end(struct channel *ch) { return end(ch, transmit_frame); }
bool channel_end_later(struct channel *ch) { return end(ch, transmit_later); }

void channel_fail(struct channel *ch, uint8_t code, int error, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  detach(ch);
  if (!step_sent(ch, CAISSON_FRAME_RESET, 0)) return;
  uint8_t buffer[CAISSON_LIMIT_RESET_MAX];
  struct writer w = writer_on(buffer, sizeof buffer);
  write_uint(&w, CAISSON_TAG_RESET_CODE, code);
  write_text_cut(&w, CAISSON_TAG_RESET_MESSAGE, text, 1024);
  if (error > 0 && error < 4096) write_uint(&w, CAISSON_TAG_RESET_ERRNO, (uint64_t)error);
  transmit_frame(CAISSON_FRAME_RESET, ch->id, w.at, w.size);
  destroy_if_over(ch);
}

void channel_fail_errno(struct channel *ch, int error, const char *what) {
  channel_fail(ch, error_code(error), error, "%s: %s", what, strerror(error));
}

uint32_t channel_credit(const struct channel *ch) {
  const struct half *half = &ch->state.half[ch->role];
  return half->phase == PHASE_OPEN ? half->credit : 0;
}

/* Credit when half the window has left, and always when nothing is held. */
void channel_taken(struct channel *ch, size_t size) {
  ch->held -= (uint32_t)size;
  ch->ungranted += (uint32_t)size;
  if (ch->ungranted == 0) return;
  if (ch->held > 0 && ch->ungranted < ch->receive_window / 2) return;
  enum role peer = ch->role == OPENER ? ACCEPTOR : OPENER;
  if (ch->state.half[peer].phase != PHASE_OPEN) return;
  ch->grant += ch->ungranted;
  ch->ungranted = 0;
  transmit_grant(ch);
}

void channel_ready(struct channel *ch) { transmit_ready(ch); }

static void on_reset(struct channel *ch) {
  const struct channel_ops *ops = ch->ops;
  if (ops != NULL) {
    if (ops->gone != NULL) ops->gone(ch);
    detach(ch);
  }
  if (channel_owes_reset(&ch->state, ch->role)) {
    uint8_t buffer[64];
    struct writer w = writer_on(buffer, sizeof buffer);
    write_uint(&w, CAISSON_TAG_RESET_CODE, CAISSON_ERROR_CANCELLED);
    write_text(&w, CAISSON_TAG_RESET_MESSAGE, "cancelled");
    step_sent(ch, CAISSON_FRAME_RESET, 0);
    transmit_frame(CAISSON_FRAME_RESET, ch->id, w.at, w.size);
  }
  destroy_if_over(ch);
}

/* A legal frame of the peer other than open and data, which receive.c brings piece by piece. */
void channel_received(struct channel *ch, uint8_t frame, struct slice payload) {
  switch (frame) {
    case CAISSON_FRAME_RESET:
      on_reset(ch);
      return;
    case CAISSON_FRAME_WINDOW:
      if (ch->ops == NULL) return;
      if (ch->ops->credit != NULL) ch->ops->credit(ch, load32(payload.at));
      if (ch->ops != NULL && ch->ops->pull != NULL) transmit_ready(ch);
      return;
    case CAISSON_FRAME_END: {
      /* The owner may finish its own half in here, which frees a channel whose both halves are then over. */
      uint32_t id = ch->id;
      if (ch->ops != NULL && ch->ops->end != NULL) ch->ops->end(ch);
      ch = channel_find(id);
      if (ch == NULL || !channel_over(&ch->state)) return;
      detach(ch);
      destroy(ch);
      return;
    }
    case CAISSON_FRAME_RESULT:
      if (ch->ops != NULL && ch->ops->result != NULL) ch->ops->result(ch);
      return;
    default:
      return;
  }
}

void channels_lost(void) {
  for (size_t i = 0; i < channel_buckets; i++) {
    while (connection.by_id[i] != NULL) {
      struct channel *ch = connection.by_id[i];
      const struct channel_ops *ops = ch->ops;
      if (ops != NULL && ops->gone != NULL) ops->gone(ch);
      destroy(ch);
    }
  }
}
