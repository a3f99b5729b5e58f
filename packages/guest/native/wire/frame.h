/* The twelve bytes before each payload, and what they alone can break. */
#ifndef CAISSON_FRAME_H
#define CAISSON_FRAME_H

#include <stdint.h>

struct frame {
  uint32_t length;
  uint8_t type;
  uint32_t channel;
};

/* 0, or the violation. Nothing of a refused header may be believed. */
int frame_decode(const uint8_t *header, uint32_t payload_max, struct frame *out);
void frame_encode(uint8_t *header, uint8_t type, uint32_t channel, uint32_t length);

#endif
