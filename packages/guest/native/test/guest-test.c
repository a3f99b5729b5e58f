/*
 * Unit tests in C. Without arguments it runs them all and says what failed. `decode` and `channel` answer for lines of the
 * shared vectors, which a test of the TypeScript side brings: the two implementations are compared, not described twice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../wire/channel-state.h"
#include "../wire/deep-decode.h"
#include "guest-test.h"

static int failures, checks;

void check_that(bool holds, const char *what, const char *file, int line) {
  checks++;
  if (holds) return;
  failures++;
  printf("%s:%d: not true: %s\n", file, line, what);
}

/* One stream in hexadecimal a line; its violation, or 0. */
static void answer_decode(void) {
  static char line[4 * 1024 * 1024];
  static uint8_t bytes[sizeof line / 2];
  while (fgets(line, sizeof line, stdin) != NULL) {
    size_t size = 0;
    unsigned byte;
    while (sscanf(line + 2 * size, "%2x", &byte) == 1) bytes[size++] = (uint8_t)byte;
    /* A copy of just that size, so that a read beyond its end is seen by the sanitizer. */
    uint8_t *copy = malloc(size + 1);
    memcpy(copy, bytes, size);
    printf("%d\n", deep_decode(copy, size));
    free(copy);
  }
}

/* "input output answer answered opener acceptor from sent frame size" a line; the verdict. */
static void answer_channel(void) {
  int input, output, answer, answered, opener, acceptor, from, sent, frame, size;
  while (scanf("%d %d %d %d %d %d %d %d %d %d", &input, &output, &answer, &answered, &opener, &acceptor, &from, &sent,
               &frame, &size) == 10) {
    struct channel_state state;
    channel_begin(&state, input != 0, (uint8_t)output, (uint8_t)answer, 1000, 1000);
    state.answered = answered != 0;
    state.half[OPENER].phase = (enum phase)opener;
    state.half[ACCEPTOR].phase = (enum phase)acceptor;
    printf("%d\n", channel_step(&state, (enum role)from, sent != 0, (uint8_t)frame, (uint32_t)size));
  }
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "decode") == 0) {
    answer_decode();
    return 0;
  }
  if (argc == 2 && strcmp(argv[1], "channel") == 0) {
    answer_channel();
    return 0;
  }
  test_wire();
  test_ring();
  test_worker_input();
  test_loop();
  test_patterns();
  test_tar();
  printf("%d checks, %d failed\n", checks, failures);
  return failures == 0 ? 0 : 1;
}
