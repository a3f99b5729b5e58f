/*
 * A socket and a channel, joined. The end of one direction is the end of that direction alone: end becomes
 * shutdown(SHUT_WR), the peer's end becomes end. A socket that fails resets the channel.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connection.h"
#include "port.h"
#include "process.h"

enum { read_bytes = 64 * 1024 };

struct carry {
  struct channel *channel;
  struct watch watch;
  bool open;
  /* From the socket: one piece that waits for credit. */
  uint8_t *piece;
  size_t piece_at, piece_size;
  bool read_ended;
  /* To the socket: what it has not taken, at most a window. */
  uint8_t *pending;
  size_t pending_at, pending_size;
  bool write_ended, shut;
};

static void carry_free(struct carry *c) {
  loop_unwatch(&c->watch);
  close(c->watch.fd);
  free(c->piece);
  free(c->pending);
  free(c);
}

static void fail(struct carry *c, int error) {
  struct channel *ch = c->channel;
  carry_free(c);
  channel_fail_errno(ch, error, "the connection");
}

static void set_interest(struct carry *c) {
  uint32_t events = 0;
  if (c->open && !c->read_ended && c->piece_size == 0 && channel_credit(c->channel) > 0) events |= EPOLLIN;
  if (c->pending_size > 0) events |= EPOLLOUT;
  /* Without interest it is taken out: a hang-up would be reported again and again. */
  if (events == 0) loop_unwatch(&c->watch);
  else loop_watch(&c->watch, events);
}

/* False when the carry is over. */
static bool finish_if_done(struct carry *c) {
  if (c->write_ended && c->pending_size == 0 && !c->shut) {
    c->shut = true;
    shutdown(c->watch.fd, SHUT_WR);
  }
  if (!c->read_ended || c->piece_size > 0) return true;
  struct channel *ch = c->channel;
  bool half_over = ch->state.half[ch->role].phase != PHASE_OPEN;
  if (c->shut) {
    carry_free(c);
    if (!half_over) channel_end(ch);
    return false;
  }
  if (!half_over) channel_end(ch);
  return true;
}

static bool read_some(struct carry *c) {
  if (!c->open || c->read_ended || c->piece_size > 0 || channel_credit(c->channel) == 0) return true;
  if (c->piece == NULL) c->piece = malloc(read_bytes);
  if (c->piece == NULL) {
    fail(c, ENOMEM);
    return false;
  }
  ssize_t n = recv(c->watch.fd, c->piece, read_bytes, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (n < 0) {
    fail(c, errno);
    return false;
  }
  if (n == 0) {
    c->read_ended = true;
    return finish_if_done(c);
  }
  c->piece_at = 0;
  c->piece_size = (size_t)n;
  channel_ready(c->channel);
  return true;
}

static bool write_some(struct carry *c) {
  while (c->pending_size > 0) {
    ssize_t n = send(c->watch.fd, c->pending + c->pending_at, c->pending_size, MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (n < 0) {
      fail(c, errno == EPIPE ? ECONNRESET : errno);
      return false;
    }
    c->pending_at += (size_t)n;
    c->pending_size -= (size_t)n;
    channel_taken(c->channel, (size_t)n);
  }
  free(c->pending);
  c->pending = NULL;
  c->pending_at = 0;
  return finish_if_done(c);
}

static void on_socket(struct watch *watch, uint32_t events) {
  struct carry *c = container_of(watch, struct carry, watch);
  if (events & (EPOLLOUT | EPOLLERR) && !write_some(c)) return;
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR) && !read_some(c)) return;
  set_interest(c);
}

static void carry_data(struct channel *ch, const uint8_t *at, size_t size) {
  struct carry *c = ch->owner;
  if (c->pending_size == 0) {
    ssize_t n = send(c->watch.fd, at, size, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return fail(c, errno == EPIPE ? ECONNRESET : errno);
    if (n > 0) {
      at += n;
      size -= (size_t)n;
      channel_taken(ch, (size_t)n);
    }
    if (size == 0) return;
  }
  if (c->pending == NULL) c->pending = malloc(CAISSON_LIMIT_WINDOW_INITIAL);
  if (c->pending == NULL) return fail(c, ENOMEM);
  if (c->pending_at + c->pending_size + size > CAISSON_LIMIT_WINDOW_INITIAL) {
    memmove(c->pending, c->pending + c->pending_at, c->pending_size);
    c->pending_at = 0;
  }
  memcpy(c->pending + c->pending_at + c->pending_size, at, size);
  c->pending_size += size;
  set_interest(c);
}

static void carry_end(struct channel *ch) {
  struct carry *c = ch->owner;
  c->write_ended = true;
  if (finish_if_done(c)) set_interest(c);
}

static size_t carry_pull(struct channel *ch, size_t max, struct slice pieces[2]) {
  struct carry *c = ch->owner;
  size_t size = c->piece_size < max ? c->piece_size : max;
  pieces[0] = (struct slice){c->piece + c->piece_at, size};
  return size;
}

static void carry_sent(struct channel *ch, size_t size) {
  struct carry *c = ch->owner;
  c->piece_at += size;
  c->piece_size -= size;
  if (c->piece_size == 0 && !read_some(c)) return;
  if (c->piece_size == 0) {
    free(c->piece);
    c->piece = NULL;
  }
  set_interest(c);
}

static void carry_credit(struct channel *ch, uint32_t size) {
  (void)size;
  set_interest(ch->owner);
}

static void carry_gone(struct channel *ch) { carry_free(ch->owner); }

static void carry_result(struct channel *ch) { carry_open(ch->owner); }

static const struct channel_ops carry_ops = {
  .data = carry_data,
  .end = carry_end,
  .result = carry_result,
  .pull = carry_pull,
  .sent = carry_sent,
  .credit = carry_credit,
  .gone = carry_gone,
};

struct carry *carry_prepare(struct channel *ch, int fd) {
  struct carry *c = calloc(1, sizeof *c);
  if (c == NULL) {
    close(fd);
    return NULL;
  }
  c->channel = ch;
  c->watch = (struct watch){.fd = fd, .ready = on_socket};
  channel_own(ch, &carry_ops, c);
  return c;
}

void carry_open(struct carry *c) {
  c->open = true;
  set_interest(c);
}

bool carry_begin(struct channel *ch, int fd) {
  struct carry *c = carry_prepare(ch, fd);
  if (c == NULL) return false;
  carry_open(c);
  return true;
}
