/* port.connect: to a loopback port (127.0.0.1, then ::1) or a unix socket. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "connection.h"
#include "port.h"
#include "process.h"

enum { default_timeout_ms = 5000 };

struct connecting {
  struct channel *channel;
  struct watch watch;
  struct timer timer;
  uint16_t port;
  bool v6_left; /* ::1 has not been tried */
  uint8_t *early;
  size_t early_size;
  bool ended;
};

static void connecting_free(struct connecting *c) {
  loop_unwatch(&c->watch);
  timer_clear(&c->timer);
  if (c->watch.fd >= 0) close(c->watch.fd);
  free(c->early);
  free(c);
}

static void connected(struct connecting *c) {
  struct channel *ch = c->channel;
  int fd = c->watch.fd, on = 1;
  uint32_t id = ch->id;
  uint8_t *early = c->early;
  size_t early_size = c->early_size;
  bool ended = c->ended;
  loop_unwatch(&c->watch);
  c->watch.fd = -1;
  c->early = NULL;
  connecting_free(c);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  channel_answer_nothing(ch);
  if (!carry_begin(ch, fd)) {
    channel_fail(ch, CAISSON_ERROR_OUT_OF_MEMORY, ENOMEM, "no memory for the connection");
  } else {
    if (early_size > 0) ch->ops->data(ch, early, early_size);
    ch = channel_find(id);
    if (ended && ch != NULL && ch->ops != NULL) ch->ops->end(ch);
  }
  free(early);
}

static int start(struct connecting *c, int family, const struct sockaddr *address, socklen_t size);

static void next_or_fail(struct connecting *c, int error) {
  loop_unwatch(&c->watch);
  if (c->watch.fd >= 0) close(c->watch.fd);
  c->watch.fd = -1;
  if (c->v6_left) {
    c->v6_left = false;
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(c->port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int second = start(c, AF_INET6, (struct sockaddr *)&address, sizeof address);
    if (second == 0) return;
    /* A kernel without IPv6 says something about itself; what IPv4 said is about the port. */
    if (second == ECONNREFUSED) error = second;
  }
  struct channel *ch = c->channel;
  connecting_free(c);
  channel_fail_errno(ch, error, "connect");
}

static void on_connected(struct watch *watch, uint32_t events) {
  struct connecting *c = container_of(watch, struct connecting, watch);
  int error = 0;
  socklen_t size = sizeof error;
  (void)events;
  if (getsockopt(watch->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) next_or_fail(c, error);
  else connected(c);
}

static int start(struct connecting *c, int family, const struct sockaddr *address, socklen_t size) {
  int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  c->watch = (struct watch){.fd = fd, .ready = on_connected};
  if (connect(fd, address, size) == 0 || errno == EINPROGRESS) {
    loop_watch(&c->watch, EPOLLOUT);
    return 0;
  }
  int error = errno == EAGAIN ? ECONNREFUSED : errno; /* a unix socket whose backlog is full */
  close(fd);
  c->watch.fd = -1;
  return error;
}

static void on_timeout(struct timer *timer) {
  struct connecting *c = container_of(timer, struct connecting, timer);
  struct channel *ch = c->channel;
  connecting_free(c);
  channel_fail(ch, CAISSON_ERROR_TIMED_OUT, ETIMEDOUT, "the connection was not made in time");
}

static void connecting_gone(struct channel *ch) { connecting_free(ch->owner); }

/* What the client says before the connection is made is kept: the window granted it. */
static void early_data(struct channel *ch, const uint8_t *at, size_t size) {
  struct connecting *c = ch->owner;
  if (c->early == NULL) c->early = malloc(CAISSON_LIMIT_WINDOW_INITIAL);
  if (c->early == NULL || size > CAISSON_LIMIT_WINDOW_INITIAL - c->early_size) {
    connecting_free(c);
    return channel_fail(ch, CAISSON_ERROR_OUT_OF_MEMORY, ENOMEM, "no memory for the connection");
  }
  memcpy(c->early + c->early_size, at, size);
  c->early_size += size;
}

static void early_end(struct channel *ch) { ((struct connecting *)ch->owner)->ended = true; }

static const struct channel_ops connecting_ops = {.data = early_data, .end = early_end, .gone = connecting_gone};

void port_connect_begin(struct channel *ch, struct slice params) {
  struct slice path = message_bytes(params, CAISSON_TAG_PORT_CONNECT_PATH);
  uint16_t port = (uint16_t)message_uint(params, CAISSON_TAG_PORT_CONNECT_PORT, 0);
  if ((port == 0) == (path.at == NULL))
    return channel_fail(ch, CAISSON_ERROR_INVALID_ARGUMENT, 0, "exactly one of port and path is wanted");
  struct connecting *c = calloc(1, sizeof *c);
  if (c == NULL) return channel_fail(ch, CAISSON_ERROR_OUT_OF_MEMORY, ENOMEM, "no memory for the connection");
  *c = (struct connecting){.channel = ch, .watch = {.fd = -1}, .port = port, .v6_left = port != 0,
                           .timer = {.fire = on_timeout}};
  channel_own(ch, &connecting_ops, c);
  timer_set(&c->timer, loop_now() + (int64_t)message_uint(params, CAISSON_TAG_PORT_CONNECT_TIMEOUT_MS, default_timeout_ms));
  int error;
  if (path.at != NULL) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path.at, path.size); /* the table bounds it to 107 bytes */
    error = start(c, AF_UNIX, (struct sockaddr *)&address, sizeof address);
  } else {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    error = start(c, AF_INET, (struct sockaddr *)&address, sizeof address);
  }
  if (error != 0) next_or_fail(c, error);
}
