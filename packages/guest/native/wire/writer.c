#include "writer.h"

#include "../protocol.h"
#include "bytes.h"
#include "message.h"

struct writer writer_on(uint8_t *buffer, size_t capacity) { return (struct writer){buffer, 0, capacity, false}; }

static uint8_t *field(struct writer *w, uint16_t tag, uint8_t wire, size_t size) {
  if (w->full || w->capacity - w->size < CAISSON_LIMIT_FIELD_HEADER_BYTES + size) {
    w->full = true;
    return NULL;
  }
  uint8_t *at = w->at + w->size;
  store16(at, tag);
  at[2] = wire;
  at[3] = 0;
  store32(at + 4, (uint32_t)size);
  w->size += CAISSON_LIMIT_FIELD_HEADER_BYTES + size;
  return at + CAISSON_LIMIT_FIELD_HEADER_BYTES;
}

void write_uint(struct writer *w, uint16_t tag, uint64_t value) {
  /* The wire's integers end at 2^53 - 1; the kernel's do not. */
  const uint64_t most = ((uint64_t)1 << 53) - 1;
  uint8_t *at = field(w, tag, CAISSON_WIRE_UINT, 8);
  if (at != NULL) store64(at, value > most ? most : value);
}

void write_int(struct writer *w, uint16_t tag, int64_t value) {
  uint8_t *at = field(w, tag, CAISSON_WIRE_INT, 8);
  if (at != NULL) store64(at, (uint64_t)value);
}

void write_bool(struct writer *w, uint16_t tag, bool value) {
  uint8_t *at = field(w, tag, CAISSON_WIRE_BOOL, 1);
  if (at != NULL) at[0] = value ? 1 : 0;
}

void write_text(struct writer *w, uint16_t tag, const char *text) {
  size_t size = strlen(text);
  uint8_t *at = field(w, tag, CAISSON_WIRE_TEXT, size);
  if (at != NULL) memcpy(at, text, size);
}

void write_text_cut(struct writer *w, uint16_t tag, const char *text, size_t max) {
  size_t size = strlen(text);
  if (size > max) size = max;
  uint8_t *at = field(w, tag, CAISSON_WIRE_TEXT, size);
  if (at == NULL) return;
  memcpy(at, text, size);
  if (utf8_valid(at, size)) return;
  for (size_t i = 0; i < size; i++)
    if (at[i] >= 0x80) at[i] = '?';
}

void write_bytes(struct writer *w, uint16_t tag, const void *from, size_t size) {
  uint8_t *at = field(w, tag, CAISSON_WIRE_BYTES, size);
  if (at != NULL && size > 0) memcpy(at, from, size);
}

size_t write_begin(struct writer *w, uint16_t tag) {
  size_t begin = w->size;
  field(w, tag, CAISSON_WIRE_MESSAGE, 0);
  return begin;
}

void write_end(struct writer *w, size_t begin) {
  if (w->full) return;
  store32(w->at + begin + 4, (uint32_t)(w->size - begin - CAISSON_LIMIT_FIELD_HEADER_BYTES));
}
