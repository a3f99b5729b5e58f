/*
 * port.wait. The kernel tells nobody when a port begins to listen, and to connect would be seen by the program; so the
 * tables of listening sockets are read, once for all that wait, and less often the longer it takes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "port.h"
#include "process.h"

enum { first_wait_ms = 10, longest_wait_ms = 200, table_max = 1024 * 1024 };

struct port_waiter {
  struct channel *channel;
  uint16_t port;
  int64_t deadline;
  struct port_waiter *next;
};

static struct port_waiter *waiters;
static struct timer timer;
static int64_t wait_ms;

/* One bit for each port that somebody listens on. */
static uint8_t listening[65536 / 8];

static int hex(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; }

/* "  n: ADDRESS:PORT REMOTE:PORT STATE": the port and the state of one line. */
static void take_line(const char *line, const char *end) {
  const char *colon = memchr(line, ':', (size_t)(end - line));
  colon = colon == NULL ? NULL : memchr(colon + 1, ':', (size_t)(end - colon - 1));
  if (colon == NULL || end - colon < 6) return;
  int port = 0;
  for (int i = 1; i <= 4; i++) {
    if (hex(colon[i]) < 0) return;
    port = port * 16 + hex(colon[i]);
  }
  const char *state = memchr(colon + 6, ' ', (size_t)(end - colon - 6));
  if (state != NULL && end - state > 3 && state[1] == '0' && state[2] == 'A') listening[port / 8] |= (uint8_t)(1 << port % 8);
}

static void read_table(const char *path) {
  char buffer[8192];
  size_t held = 0, total = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return;
  ssize_t n;
  while (total < table_max && (n = read(fd, buffer + held, sizeof buffer - held)) > 0) {
    total += (size_t)n;
    held += (size_t)n;
    char *at = buffer, *newline;
    while ((newline = memchr(at, '\n', held - (size_t)(at - buffer))) != NULL) {
      take_line(at, newline);
      at = newline + 1;
    }
    held -= (size_t)(at - buffer);
    memmove(buffer, at, held);
    if (held == sizeof buffer) held = 0;
  }
  close(fd);
}

static void look(void) {
  memset(listening, 0, sizeof listening);
  read_table("/proc/net/tcp");
  read_table("/proc/net/tcp6");
}

static void on_timer(struct timer *unused) {
  (void)unused;
  look();
  int64_t next = INT64_MAX;
  for (struct port_waiter **link = &waiters; *link != NULL;) {
    struct port_waiter *w = *link;
    bool there = listening[w->port / 8] >> w->port % 8 & 1;
    if (!there && loop_now() < w->deadline) {
      if (w->deadline < next) next = w->deadline;
      link = &w->next;
      continue;
    }
    struct channel *ch = w->channel;
    *link = w->next;
    free(w);
    if (there) channel_answer_nothing(ch);
    else channel_fail(ch, CAISSON_ERROR_TIMED_OUT, ETIMEDOUT, "nobody listens on the port");
  }
  if (waiters == NULL) return;
  wait_ms = wait_ms * 3 / 2 > longest_wait_ms ? longest_wait_ms : wait_ms * 3 / 2;
  int64_t at = loop_now() + wait_ms;
  timer_set(&timer, at < next ? at : next);
}

static void wait_gone(struct channel *ch) {
  struct port_waiter *w = ch->owner, **link = &waiters;
  while (*link != w) link = &(*link)->next;
  *link = w->next;
  free(w);
  if (waiters == NULL) timer_clear(&timer);
}

static const struct channel_ops wait_ops = {.gone = wait_gone};

void port_wait_begin(struct channel *ch, struct slice params) {
  struct port_waiter *w = malloc(sizeof *w);
  if (w == NULL) return channel_fail(ch, CAISSON_ERROR_OUT_OF_MEMORY, ENOMEM, "no memory to wait");
  int64_t timeout = (int64_t)message_uint(params, CAISSON_TAG_PORT_WAIT_TIMEOUT_MS, 0);
  *w = (struct port_waiter){ch, (uint16_t)message_uint(params, CAISSON_TAG_PORT_WAIT_PORT, 0), loop_now() + timeout, waiters};
  waiters = w;
  channel_own(ch, &wait_ops, w);
  wait_ms = first_wait_ms;
  timer.fire = on_timer;
  timer_set(&timer, loop_now());
}
