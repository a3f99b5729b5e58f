/*
 * Messages of tagged fields: checked whole against their table once, then read by tag.
 *
 * Law: the readers below may only be given bytes that message_check accepted. They do not check again, and they are
 * total: an absent field gives the fallback.
 */
#ifndef CAISSON_MESSAGE_H
#define CAISSON_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../protocol.h"

struct slice {
  const uint8_t *at;
  size_t size;
};

/* 0, or the violation. */
int message_check(const struct caisson_message *def, const uint8_t *at, size_t size);

uint64_t message_uint(struct slice message, uint16_t tag, uint64_t fallback);
bool message_bool(struct slice message, uint16_t tag);
/* A slice with at == NULL when the field is absent. */
struct slice message_bytes(struct slice message, uint16_t tag);
bool message_has(struct slice message, uint16_t tag);

/* The items of a repeated field in order: begin with *cursor = 0; false at the end. */
bool message_next(struct slice message, uint16_t tag, size_t *cursor, struct slice *item);

bool utf8_valid(const uint8_t *at, size_t size);

#endif
