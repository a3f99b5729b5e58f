/*
 * Dialling, the handshake, keepalive, and dialling again for ever: the processes live whether or not a server does.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../wire/bytes.h"
#include "connection.h"
#include "log.h"
#include "version.h"

struct connection connection; /* without a value of its own: it is large, and a part of every guest's memory */

static struct dial_options options;
static uint8_t boot[16];
static uint8_t secret[32];
static bool has_secret, stopped, refused;
static unsigned attempt;
static struct timer redial, deadline, keepalive;

const uint8_t *boot_id(void) { return boot; }

void dial_forget_secrets(void) {
  explicit_bzero(secret, sizeof secret);
  has_secret = false;
}

void dial_stop(void) {
  stopped = true;
  timer_clear(&redial);
}

static void schedule(bool slow) {
  if (stopped || options.socket_path == NULL) return;
  uint64_t full = CAISSON_LIMIT_REDIAL_MAX;
  if (!slow && attempt < 16 && ((uint64_t)CAISSON_LIMIT_REDIAL_MIN << attempt) < full)
    full = (uint64_t)CAISSON_LIMIT_REDIAL_MIN << attempt;
  attempt++;
  uint16_t random = 0;
  if (getentropy(&random, sizeof random) != 0) random = (uint16_t)loop_now();
  timer_set(&redial, loop_now() + (int64_t)(full - (full / 2) * random / 65536));
}

static void drop(bool slow) {
  if (connection.watch.fd < 0) return;
  loop_unwatch(&connection.watch);
  close(connection.watch.fd);
  connection.watch.fd = -1;
  relay_pipes_close();
  connection.closing = true;
  channels_lost();
  transmit_reset();
  receive_reset();
  connection.grants = NULL;
  connection.ready_head = connection.ready_tail = NULL;
  connection.ready_count = 0;
  connection.established = connection.closing = false;
  timer_clear(&deadline);
  timer_clear(&keepalive);
  schedule(slow);
}

void connection_lost(void) {
  bool slow = refused;
  refused = false;
  drop(slow);
}

void connection_violation(int violation) {
  if (connection.closing) return;
  char text[64];
  uint8_t frame[CAISSON_LIMIT_HEADER_BYTES + 128];
  struct writer w = writer_on(frame + CAISSON_LIMIT_HEADER_BYTES, sizeof frame - CAISSON_LIMIT_HEADER_BYTES);
  snprintf(text, sizeof text, "violation %d", violation);
  log_line("the server broke law %d of the protocol; redialling", violation);
  write_uint(&w, CAISSON_TAG_GOAWAY_REASON, CAISSON_GOAWAY_REASON_PROTOCOL_ERROR);
  write_text(&w, CAISSON_TAG_GOAWAY_MESSAGE, text);
  store32(frame, (uint32_t)w.size);
  store32(frame + 4, CAISSON_FRAME_GOAWAY);
  store32(frame + 8, 0);
  /* Best effort, and only where the stream stands between two frames. */
  if (transmit_idle()) (void)!write(connection_out(), frame, CAISSON_LIMIT_HEADER_BYTES + w.size);
  connection.closing = true;
}

static void check_silence(struct timer *timer) {
  int64_t silence = loop_now() - connection.heard_at;
  if (silence >= CAISSON_LIMIT_DEAD_AFTER) {
    log_line("the server has been silent for %lld ms; redialling", (long long)silence);
    connection_lost();
    return;
  }
  if (silence >= CAISSON_LIMIT_PING_AFTER && !connection.ping_unanswered) {
    uint8_t payload[8];
    store64(payload, (uint64_t)loop_now());
    transmit_frame(CAISSON_FRAME_PING, 0, payload, sizeof payload);
    connection.ping_unanswered = true;
  }
  int64_t after = connection.ping_unanswered ? CAISSON_LIMIT_DEAD_AFTER : CAISSON_LIMIT_PING_AFTER;
  timer_set(timer, connection.heard_at + after);
}

static void on_deadline(struct timer *timer) {
  (void)timer;
  drop(false);
}

static void on_ready(struct watch *watch, uint32_t events) {
  (void)watch;
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive_ready();
}

static void adopt(int fd, bool is_relay) {
  connection.watch = (struct watch){.fd = fd, .ready = on_ready, .urgent = true};
  connection.greeting = is_relay;
  connection.established = connection.closing = false;
  connection.last_peer_id = connection.last_own_id = 0;
  connection.ping_unanswered = connection.goaway_received = false;
  connection.heard_at = loop_now();
  timer_set(&deadline, loop_now() + CAISSON_LIMIT_HANDSHAKE_DEADLINE);
  loop_watch(&connection.watch, EPOLLIN);
  if (!is_relay) connection_hello();
}

bool connection_replace(int fd) {
  if (stopped) return false;
  /* The server starts a second relay only when it has given the first one up. */
  if (connection.watch.fd >= 0) drop(false);
  timer_clear(&redial);
  adopt(fd, true);
  return true;
}

void connection_hello(void) {
  uint8_t buffer[512];
  struct writer w = writer_on(buffer, sizeof buffer);
  write_uint(&w, CAISSON_TAG_HELLO_MIN_VERSION, CAISSON_LIMIT_VERSION_MIN);
  write_uint(&w, CAISSON_TAG_HELLO_MAX_VERSION, CAISSON_LIMIT_VERSION_MAX);
  write_text(&w, CAISSON_TAG_HELLO_GUEST_VERSION, guest_version);
  write_text(&w, CAISSON_TAG_HELLO_SANDBOX_ID, options.sandbox_id);
  write_uint(&w, CAISSON_TAG_HELLO_INCARNATION, options.incarnation);
  write_bytes(&w, CAISSON_TAG_HELLO_BOOT_ID, boot, sizeof boot);
  if (has_secret) write_bytes(&w, CAISSON_TAG_HELLO_SECRET, secret, sizeof secret);
  write_uint(&w, CAISSON_TAG_HELLO_INITIAL_WINDOW, CAISSON_LIMIT_WINDOW_INITIAL);
  write_uint(&w, CAISSON_TAG_HELLO_MAX_CHANNELS, CAISSON_LIMIT_CHANNELS_MAX);
  transmit_frame(CAISSON_FRAME_HELLO, 0, w.at, w.size);
  explicit_bzero(buffer, sizeof buffer);
}

void handshake_frame(uint8_t type, struct slice payload) {
  if (type == CAISSON_FRAME_REFUSE) {
    int violation = message_check(&caisson_message_refuse, payload.at, payload.size);
    if (violation == 0)
      log_line("the server refused us, reason %d", (int)message_uint(payload, CAISSON_TAG_REFUSE_REASON, 0));
    refused = connection.closing = true;
    return;
  }
  if (type != CAISSON_FRAME_WELCOME) return connection_violation(CAISSON_VIOLATION_HANDSHAKE_ORDER);
  int violation = message_check(&caisson_message_welcome, payload.at, payload.size);
  uint64_t version = violation != 0 ? 0 : message_uint(payload, CAISSON_TAG_WELCOME_VERSION, 0);
  if (violation == 0 && (version < CAISSON_LIMIT_VERSION_MIN || version > CAISSON_LIMIT_VERSION_MAX))
    violation = CAISSON_VIOLATION_VERSION_NOT_OFFERED;
  if (violation != 0) return connection_violation(violation);
  struct slice next = message_bytes(payload, CAISSON_TAG_WELCOME_NEXT_SECRET);
  if (next.at != NULL) {
    memcpy(secret, next.at, sizeof secret);
    has_secret = true;
  }
  connection.peer_window = (uint32_t)message_uint(payload, CAISSON_TAG_WELCOME_INITIAL_WINDOW, 0);
  connection.peer_channels = (uint32_t)message_uint(payload, CAISSON_TAG_WELCOME_MAX_CHANNELS, 0);
  connection.established = true;
  log_silence();
  attempt = 0;
  timer_clear(&deadline);
  timer_set(&keepalive, loop_now() + CAISSON_LIMIT_PING_AFTER);
}

static void dial(struct timer *timer) {
  (void)timer;
  if (connection.watch.fd >= 0 || stopped) return;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  memcpy(address.sun_path, options.socket_path, strlen(options.socket_path));
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
    adopt(fd, false);
    return;
  }
  if (fd >= 0) close(fd);
  schedule(false);
}

static bool read_secret(int fd) {
  size_t got = 0;
  while (got < sizeof secret) {
    ssize_t n = read(fd, secret + got, sizeof secret - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += (size_t)n;
  }
  /* One of the three standard ones must not become a socket that a child could take for its own. */
  int nothing = fd < 3 ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
  if (nothing >= 0) dup2(nothing, fd);
  close(nothing >= 0 ? nothing : fd);
  has_secret = got == sizeof secret;
  return has_secret;
}

bool dial_begin(const struct dial_options *given) {
  options = *given;
  connection.watch.fd = connection.pipe_in.fd = connection.pipe_out.fd = -1;
  struct sockaddr_un address;
  if (options.socket_path != NULL && strlen(options.socket_path) >= sizeof address.sun_path) return false;
  if (getentropy(boot, sizeof boot) != 0) return false;
  if (options.secret_fd >= 0 && !read_secret(options.secret_fd)) return false;
  redial.fire = dial;
  deadline.fire = on_deadline;
  keepalive.fire = check_silence;
  if (options.relay_name != NULL && !relay_listen(options.relay_name)) return false;
  if (options.socket_path != NULL) dial(NULL);
  return true;
}
