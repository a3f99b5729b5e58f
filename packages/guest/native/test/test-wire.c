#include <errno.h>
#include <string.h>

#include "../wire/bytes.h"
#include "../wire/error-code.h"
#include "../wire/frame.h"
#include "../wire/message.h"
#include "../wire/writer.h"
#include "guest-test.h"

static void a_written_message_is_read_again(void) {
  uint8_t buffer[256];
  struct writer w = writer_on(buffer, sizeof buffer);
  write_uint(&w, CAISSON_TAG_RESET_CODE, CAISSON_ERROR_NO_SPACE);
  write_text(&w, CAISSON_TAG_RESET_MESSAGE, "no space");
  write_uint(&w, CAISSON_TAG_RESET_ERRNO, ENOSPC);
  struct slice m = {buffer, w.size};
  CHECK(message_check(&caisson_message_reset, m.at, m.size) == 0);
  CHECK(message_uint(m, CAISSON_TAG_RESET_CODE, 0) == CAISSON_ERROR_NO_SPACE);
  CHECK(message_bytes(m, CAISSON_TAG_RESET_MESSAGE).size == 8);
  CHECK(message_uint(m, 99, 7) == 7);
  CHECK(!message_has(m, 99));
}

static void a_writer_without_room_stays_full(void) {
  uint8_t buffer[20];
  struct writer w = writer_on(buffer, sizeof buffer);
  write_uint(&w, 1, 1);
  CHECK(!w.full);
  write_uint(&w, 2, 2);
  CHECK(w.full && w.size == 16);
  write_bool(&w, 3, true);
  CHECK(w.full && w.size == 16);
}

static void large_numbers_are_cut_to_what_the_wire_has(void) {
  uint8_t buffer[16];
  struct writer w = writer_on(buffer, sizeof buffer);
  write_uint(&w, 1, UINT64_MAX);
  CHECK(load64(buffer + 8) == ((uint64_t)1 << 53) - 1);
}

static void text_of_others_is_made_valid(void) {
  uint8_t buffer[32];
  struct writer w = writer_on(buffer, sizeof buffer);
  write_text_cut(&w, 1, "caf\xe9", 3 + 1);
  CHECK(memcmp(buffer + 8, "caf?", 4) == 0);
  CHECK(utf8_valid((const uint8_t *)"\xf0\x9f\x98\x80", 4));
  CHECK(!utf8_valid((const uint8_t *)"\xed\xa0\x80", 3));
  CHECK(!utf8_valid((const uint8_t *)"\xc0\x80", 2));
  CHECK(!utf8_valid((const uint8_t *)"\xe2\x82", 2));
}

static void every_errno_has_a_code(void) {
  CHECK(error_code(ENOENT) == CAISSON_ERROR_NOT_FOUND);
  CHECK(error_code(EDQUOT) == CAISSON_ERROR_QUOTA_EXCEEDED);
  for (int error = 1; error < 200; error++) CHECK(error_code(error) >= 1 && error_code(error) <= 30);
}

void test_wire(void) {
  a_written_message_is_read_again();
  a_writer_without_room_stays_full();
  large_numbers_are_cut_to_what_the_wire_has();
  text_of_others_is_made_valid();
  every_errno_has_a_code();
}
