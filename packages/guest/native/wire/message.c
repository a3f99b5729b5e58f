#include "message.h"

#include "bytes.h"

enum { fields_known_max = 32, depth_max = 3 };

static int check(const struct caisson_message *def, const uint8_t *at, size_t size, int depth);

bool utf8_valid(const uint8_t *at, size_t size) {
  size_t i = 0;
  while (i < size) {
    uint8_t lead = at[i];
    if (lead < 0x80) {
      i++;
      continue;
    }
    if (lead < 0xc2 || lead > 0xf4) return false;
    size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (size - i < length) return false;
    uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (at[i + 1] < low || at[i + 1] > high) return false;
    for (size_t k = 2; k < length; k++)
      if ((at[i + k] & 0xc0) != 0x80) return false;
    i += length;
  }
  return true;
}

static int check_integer(const struct caisson_field *field, const uint8_t *at, size_t size) {
  if (size != 8) return CAISSON_VIOLATION_WRONG_LENGTH;
  /* Every bound lies within 2^53 either way, so a uint above 2^63 reads as a negative and is refused as well. */
  int64_t value = (int64_t)load64(at);
  bool inside = value >= field->min && value <= field->max;
  if (field->kind == CAISSON_CHOICE) return inside ? 0 : CAISSON_VIOLATION_UNKNOWN_CHOICE;
  return inside ? 0 : CAISSON_VIOLATION_OUT_OF_RANGE;
}

static int check_bytes(const struct caisson_field *field, const uint8_t *at, size_t size) {
  if ((int64_t)size < field->min || (int64_t)size > field->max) return CAISSON_VIOLATION_TOO_LONG;
  bool text = field->wire == CAISSON_WIRE_TEXT;
  if ((text || field->kind == CAISSON_NAME) && size > 0 && memchr(at, 0, size) != NULL)
    return CAISSON_VIOLATION_INVALID_TEXT;
  return text && !utf8_valid(at, size) ? CAISSON_VIOLATION_INVALID_TEXT : 0;
}

static int check_body(const struct caisson_field *field, const uint8_t *at, size_t size, int depth) {
  switch (field->wire) {
    case CAISSON_WIRE_UINT:
    case CAISSON_WIRE_INT:
      return check_integer(field, at, size);
    case CAISSON_WIRE_BOOL:
      if (size != 1) return CAISSON_VIOLATION_WRONG_LENGTH;
      return at[0] > 1 ? CAISSON_VIOLATION_OUT_OF_RANGE : 0;
    case CAISSON_WIRE_MESSAGE:
      if ((int64_t)size > field->max || depth >= depth_max) return CAISSON_VIOLATION_TOO_LONG;
      return check(field->message, at, size, depth + 1);
    default:
      return check_bytes(field, at, size);
  }
}

static int check_field(const struct caisson_field *field, uint32_t *count, uint8_t wire, const uint8_t *at,
                       size_t size, int depth) {
  if (wire != field->wire) return CAISSON_VIOLATION_WRONG_TYPE;
  if (*count >= field->max_items)
    return field->rule == CAISSON_REPEATED ? CAISSON_VIOLATION_TOO_MANY_ITEMS : CAISSON_VIOLATION_DUPLICATE_FIELD;
  (*count)++;
  return check_body(field, at, size, depth);
}

static int check(const struct caisson_message *def, const uint8_t *at, size_t size, int depth) {
  uint32_t counts[fields_known_max] = {0};
  size_t fields = 0;
  while (size > 0) {
    if (size < CAISSON_LIMIT_FIELD_HEADER_BYTES) return CAISSON_VIOLATION_TRUNCATED;
    if (++fields > CAISSON_LIMIT_FIELDS_MAX) return CAISSON_VIOLATION_TOO_MANY_FIELDS;
    uint16_t tag = load16(at);
    uint8_t wire = at[2], flags = at[3];
    uint32_t length = load32(at + 4);
    at += CAISSON_LIMIT_FIELD_HEADER_BYTES;
    size -= CAISSON_LIMIT_FIELD_HEADER_BYTES;
    if (flags > 1) return CAISSON_VIOLATION_RESERVED_NOT_ZERO;
    if (length > size) return CAISSON_VIOLATION_TRUNCATED;
    size_t i = 0;
    while (i < def->count && def->fields[i].tag != tag) i++;
    if (i < def->count) {
      int violation = check_field(&def->fields[i], &counts[i], wire, at, length, depth);
      if (violation != 0) return violation;
    } else if (flags == 1) {
      return CAISSON_VIOLATION_UNKNOWN_CRITICAL_FIELD;
    }
    at += length;
    size -= length;
  }
  for (size_t i = 0; i < def->count; i++)
    if (def->fields[i].rule == CAISSON_REQUIRED && counts[i] == 0) return CAISSON_VIOLATION_MISSING_FIELD;
  return 0;
}

int message_check(const struct caisson_message *def, const uint8_t *at, size_t size) { return check(def, at, size, 1); }

bool message_next(struct slice message, uint16_t tag, size_t *cursor, struct slice *item) {
  while (message.size - *cursor >= CAISSON_LIMIT_FIELD_HEADER_BYTES) {
    const uint8_t *at = message.at + *cursor;
    uint32_t length = load32(at + 4);
    *cursor += CAISSON_LIMIT_FIELD_HEADER_BYTES + length;
    if (load16(at) != tag) continue;
    *item = (struct slice){at + CAISSON_LIMIT_FIELD_HEADER_BYTES, length};
    return true;
  }
  return false;
}

struct slice message_bytes(struct slice message, uint16_t tag) {
  struct slice item = {NULL, 0};
  size_t cursor = 0;
  message_next(message, tag, &cursor, &item);
  return item;
}

bool message_has(struct slice message, uint16_t tag) { return message_bytes(message, tag).at != NULL; }

uint64_t message_uint(struct slice message, uint16_t tag, uint64_t fallback) {
  struct slice item = message_bytes(message, tag);
  return item.at == NULL ? fallback : load64(item.at);
}

bool message_bool(struct slice message, uint16_t tag) {
  struct slice item = message_bytes(message, tag);
  return item.at != NULL && item.at[0] == 1;
}
