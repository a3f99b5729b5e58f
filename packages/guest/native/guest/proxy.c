/* The proxy's end inside: loopback listeners whose connections are carried to the server byte for byte. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connection.h"
#include "port.h"
#include "process.h"

enum {
  listeners_max = 8,
  backlog = 128,
  accepts_per_turn = 32,
  /* Without a descriptor for the client the listener stays ready, and the loop would turn for ever. */
  rest_ms = 100,
};

struct listener {
  struct watch watch;
  struct timer rest;
  uint16_t port;
  uint8_t kind;
};

static struct listener listeners[listeners_max];
static size_t count;

static void carry_to_server(int fd, uint8_t kind) {
  bool room = connection.watch.fd >= 0 && connection.established && !connection.closing && !connection.goaway_received &&
              connection.open_by_us < connection.peer_channels && connection.last_own_id + 2 <= CAISSON_LIMIT_CHANNEL_ID_MAX;
  /* Without a server there is nobody to decide: closed at once, so that the client inside can try again. */
  struct channel *ch = !room ? NULL
                             : channel_create(connection.last_own_id + 2, OPENER, method_find(CAISSON_METHOD_PROXY_CONNECT),
                                              true, CAISSON_LIMIT_WINDOW_INITIAL, connection.peer_window);
  if (ch == NULL) {
    close(fd);
    return;
  }
  connection.last_own_id = ch->id;
  uint8_t params[32], buffer[128];
  struct writer p = writer_on(params, sizeof params), w = writer_on(buffer, sizeof buffer);
  write_uint(&p, CAISSON_TAG_PROXY_CONNECT_KIND, kind);
  write_uint(&w, CAISSON_TAG_OPEN_METHOD, CAISSON_METHOD_PROXY_CONNECT);
  write_bool(&w, CAISSON_TAG_OPEN_INPUT, true);
  write_bytes(&w, CAISSON_TAG_OPEN_PARAMS, p.at, p.size);
  transmit_frame(CAISSON_FRAME_OPEN, ch->id, w.at, w.size);
  /* The client's bytes may go before the server's result: they are what it decides by. */
  if (!carry_begin(ch, fd)) channel_fail(ch, CAISSON_ERROR_OUT_OF_MEMORY, ENOMEM, "no memory for the connection");
}

static void on_client(struct watch *watch, uint32_t events) {
  struct listener *l = container_of(watch, struct listener, watch);
  (void)events;
  for (int i = 0; i < accepts_per_turn; i++) {
    int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), on = 1;
    if (fd < 0) {
      if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
      loop_unwatch(watch);
      timer_set(&l->rest, loop_now() + rest_ms);
      return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    carry_to_server(fd, l->kind);
  }
}

static void on_rested(struct timer *timer) { loop_watch(&container_of(timer, struct listener, rest)->watch, EPOLLIN); }

void proxy_listen_begin(struct channel *ch, struct slice params) {
  uint8_t kind = (uint8_t)message_uint(params, CAISSON_TAG_PROXY_LISTEN_KIND, 1);
  uint16_t port = (uint16_t)message_uint(params, CAISSON_TAG_PROXY_LISTEN_PORT, 0);
  for (size_t i = 0; i < count; i++) {
    if (listeners[i].port != port) continue;
    if (listeners[i].kind == kind) return channel_answer_nothing(ch);
    return channel_fail(ch, CAISSON_ERROR_BUSY, EADDRINUSE, "the port carries another kind of proxy");
  }
  if (count == listeners_max) return channel_fail(ch, CAISSON_ERROR_LIMIT_REACHED, 0, "too many listeners");
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
  if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, backlog) != 0) {
    int error = errno;
    if (fd >= 0) close(fd);
    if (error == EADDRINUSE) return channel_fail(ch, CAISSON_ERROR_BUSY, error, "the port is in use");
    return channel_fail_errno(ch, error, "listen");
  }
  struct listener *l = &listeners[count++];
  *l = (struct listener){.watch = {.fd = fd, .ready = on_client}, .rest = {.fire = on_rested}, .port = port, .kind = kind};
  loop_watch(&l->watch, EPOLLIN);
  channel_answer_nothing(ch);
}
