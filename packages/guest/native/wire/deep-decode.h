/* Decodes as deep as bytes alone allow: frames, their messages, the parameters of a known method. For tests and fuzzing. */
#ifndef CAISSON_DEEP_DECODE_H
#define CAISSON_DEEP_DECODE_H

#include <stddef.h>
#include <stdint.h>

/* 0, or the first violation of the stream. */
int deep_decode(const uint8_t *at, size_t size);

#endif
