/*
 * One channel as one side sees it: the C twin of src/protocol/channel.ts, where its laws stand. Pure: a state and a
 * frame in, a verdict out. vectors/channels.json holds every pair, and a test compares.
 */
#ifndef CAISSON_CHANNEL_STATE_H
#define CAISSON_CHANNEL_STATE_H

#include <stdbool.h>
#include <stdint.h>

enum role { OPENER = 0, ACCEPTOR = 1 };
enum phase { PHASE_OPEN = 0, PHASE_FINISHED = 1, PHASE_RESET = 2 };

struct half {
  enum phase phase;
  /* Bytes of data that the sender of this half may still send. */
  uint32_t credit;
};

struct channel_state {
  bool input;
  uint8_t output, answer;
  bool answered;
  struct half half[2];
};

/* A violation is positive. */
enum { STEP_OK = 0, STEP_DISCARD = -1 };

void channel_begin(struct channel_state *s, bool input, uint8_t output, uint8_t answer, uint32_t opener_credit,
                   uint32_t acceptor_credit);
bool channel_over(const struct channel_state *s);
/* The peer has reset and the half of `role` is still open: it owes a terminal frame. */
bool channel_owes_reset(const struct channel_state *s, enum role role);
/* `size` is the payload length of data and the credit of window. The state changes only when the step is legal. */
int channel_step(struct channel_state *s, enum role from, bool sent, uint8_t frame, uint32_t size);

#endif
