#include "channel-state.h"

#include "../protocol.h"

void channel_begin(struct channel_state *s, bool input, uint8_t output, uint8_t answer, uint32_t opener_credit,
                   uint32_t acceptor_credit) {
  *s = (struct channel_state){
    .input = input,
    .output = output,
    .answer = answer,
    .half = {{input ? PHASE_OPEN : PHASE_FINISHED, input ? opener_credit : 0},
             {PHASE_OPEN, output == CAISSON_NONE ? 0 : acceptor_credit}},
  };
}

bool channel_over(const struct channel_state *s) {
  return s->half[OPENER].phase != PHASE_OPEN && s->half[ACCEPTOR].phase != PHASE_OPEN;
}

bool channel_owes_reset(const struct channel_state *s, enum role role) {
  return s->half[1 - role].phase == PHASE_RESET && s->half[role].phase == PHASE_OPEN;
}

static bool has_stream(const struct channel_state *s, enum role role) {
  return role == OPENER ? s->input : s->output != CAISSON_NONE;
}

/* The receiver of this half has reset, or it answered before the input ended. */
static bool unwanted(const struct channel_state *s, enum role from) {
  if (s->half[1 - from].phase == PHASE_RESET) return true;
  return from == OPENER && s->answer != CAISSON_FIRST && s->answered;
}

static int on_window(struct channel_state *s, enum role from, bool sent, uint32_t size) {
  struct half *half = &s->half[1 - from];
  if (!has_stream(s, 1 - from)) return CAISSON_VIOLATION_NO_SUCH_STREAM;
  if (size < 1 || size > CAISSON_LIMIT_WINDOW_MAX) return CAISSON_VIOLATION_WINDOW_OVERFLOW;
  if (half->phase != PHASE_OPEN) return sent ? CAISSON_VIOLATION_AFTER_END : STEP_DISCARD;
  if (half->credit + size > CAISSON_LIMIT_WINDOW_MAX) return CAISSON_VIOLATION_WINDOW_OVERFLOW;
  half->credit += size;
  return STEP_OK;
}

static int on_data(struct channel_state *s, enum role from, bool sent, uint32_t size) {
  struct half *half = &s->half[from];
  if (!has_stream(s, from)) return CAISSON_VIOLATION_NO_SUCH_STREAM;
  if (half->phase != PHASE_OPEN) return CAISSON_VIOLATION_AFTER_END;
  if (from == ACCEPTOR && s->answer == CAISSON_FIRST && !s->answered) return CAISSON_VIOLATION_RESULT_EXPECTED;
  if (size < 1) return CAISSON_VIOLATION_BAD_FRAME_LENGTH;
  if (from == ACCEPTOR && s->output == CAISSON_RECORDS && size > CAISSON_LIMIT_RECORD_MAX)
    return CAISSON_VIOLATION_FRAME_TOO_LARGE;
  if (size > half->credit) return CAISSON_VIOLATION_WINDOW_EXCEEDED;
  bool useless = unwanted(s, from);
  if (useless && sent) return CAISSON_VIOLATION_AFTER_END;
  half->credit -= size;
  return useless ? STEP_DISCARD : STEP_OK;
}

static int on_end(struct channel_state *s, enum role from) {
  if (from == OPENER ? !s->input : s->answer != CAISSON_FIRST) return CAISSON_VIOLATION_NO_SUCH_STREAM;
  if (s->half[from].phase != PHASE_OPEN) return CAISSON_VIOLATION_AFTER_END;
  if (from == ACCEPTOR && !s->answered) return CAISSON_VIOLATION_RESULT_EXPECTED;
  bool useless = unwanted(s, from);
  s->half[from].phase = PHASE_FINISHED;
  return useless ? STEP_DISCARD : STEP_OK;
}

static int on_result(struct channel_state *s, enum role from) {
  if (from == OPENER || s->answered) return CAISSON_VIOLATION_UNEXPECTED_RESULT;
  s->answered = true;
  bool useless = unwanted(s, from);
  if (s->answer != CAISSON_FIRST) s->half[from].phase = PHASE_FINISHED;
  return useless ? STEP_DISCARD : STEP_OK;
}

int channel_step(struct channel_state *s, enum role from, bool sent, uint8_t frame, uint32_t size) {
  if (channel_over(s)) {
    bool crossed = !sent && (frame == CAISSON_FRAME_WINDOW || frame == CAISSON_FRAME_RESET);
    return crossed ? STEP_DISCARD : CAISSON_VIOLATION_CHANNEL_CLOSED;
  }
  if (s->half[from].phase == PHASE_RESET) return CAISSON_VIOLATION_AFTER_RESET;
  switch (frame) {
    case CAISSON_FRAME_RESET:
      s->half[from].phase = PHASE_RESET;
      return STEP_OK;
    case CAISSON_FRAME_WINDOW:
      return on_window(s, from, sent, size);
    case CAISSON_FRAME_DATA:
      return on_data(s, from, sent, size);
    case CAISSON_FRAME_END:
      return on_end(s, from);
    case CAISSON_FRAME_RESULT:
      return on_result(s, from);
    default:
      return CAISSON_VIOLATION_BAD_CHANNEL_ID;
  }
}
