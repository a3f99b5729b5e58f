/*
 * Builds a message in a buffer the caller owns.
 *
 * Law: a writer that ran out of room stays `full` and writes nothing more; the caller looks once, at the end.
 */
#ifndef CAISSON_WRITER_H
#define CAISSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct writer {
  uint8_t *at;
  size_t size, capacity;
  bool full;
};

struct writer writer_on(uint8_t *buffer, size_t capacity);
void write_uint(struct writer *w, uint16_t tag, uint64_t value);
void write_int(struct writer *w, uint16_t tag, int64_t value);
void write_bool(struct writer *w, uint16_t tag, bool value);
void write_text(struct writer *w, uint16_t tag, const char *text);
/* Text that is cut to max bytes and whose invalid bytes become '?': what a kernel or a user named is not always UTF-8. */
void write_text_cut(struct writer *w, uint16_t tag, const char *text, size_t max);
void write_bytes(struct writer *w, uint16_t tag, const void *at, size_t size);

/* A nested message: what is written between begin and end is its content. */
size_t write_begin(struct writer *w, uint16_t tag);
void write_end(struct writer *w, size_t begin);

#endif
