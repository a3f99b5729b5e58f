/*
 * Frames out. Two kinds: frames that are not data wait in one queue of bytes and go first; data is pulled from its
 * owners in turn at the moment the socket takes it, so nothing is copied and nobody's data waits behind another's.
 *
 * What a short write leaves behind is copied to `tail` and goes before everything else: the peer has its header.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "../wire/bytes.h"
#include "connection.h"
#include "job.h"

enum {
  /* A peer that does not read and keeps asking: at this much unread answers the connection is given up. */
  control_max = 16 * 1024 * 1024,
  control_kept = 4096,
  batch_bytes = CAISSON_LIMIT_PAYLOAD_MAX,
  batch_channels = 8,
  /* Then what came in meanwhile has its turn: a mebibyte of bulk is a fraction of a millisecond. */
  writes_per_turn = 4,
  /* For frames that nobody waits for. Most find company by then, and need no write and no wake-up of their own. */
  later_ms = 3,
};

static uint8_t *control;
static size_t control_size, control_capacity;
static uint8_t tail[batch_bytes + 64 * 1024] __attribute__((aligned(4096)));
static size_t tail_at, tail_size;
static bool pong_waits;
static uint8_t pong[8];
static bool hurried; /* somebody waits for a frame in `control` */
static struct timer later;

struct batch {
  struct iovec pieces[2 + 3 * batch_channels];
  int count;
  size_t bytes;
  uint8_t headers[batch_channels][CAISSON_LIMIT_HEADER_BYTES];
  uint32_t channels[batch_channels];
  size_t sizes[batch_channels];
  int data_count;
};

void transmit_reset(void) {
  free(control);
  control = NULL;
  control_size = control_capacity = 0;
  tail_at = tail_size = 0;
  pong_waits = hurried = false;
  timer_clear(&later);
}

bool transmit_idle(void) { return control_size == 0 && tail_size == 0 && !pong_waits && connection.grants == NULL; }

/* Gives pages of the tail back when nothing waits in it. */
void transmit_trim(void) {
  if (tail_size == 0) madvise(tail, sizeof tail, MADV_DONTNEED);
}

static bool reserve(size_t size) {
  size_t wanted = control_size + size;
  if (wanted <= control_capacity) return true;
  size_t capacity = control_capacity < control_kept ? control_kept : control_capacity;
  while (capacity < wanted) capacity *= 2;
  uint8_t *grown = capacity > control_max ? NULL : realloc(control, capacity);
  if (grown == NULL) return false;
  control = grown;
  control_capacity = capacity;
  return true;
}

static void on_later(struct timer *timer) {
  (void)timer;
  hurried = true;
}

void transmit_frame(uint8_t type, uint32_t channel, const void *payload, size_t size) {
  hurried = true;
  transmit_later(type, channel, payload, size);
}

void transmit_later(uint8_t type, uint32_t channel, const void *payload, size_t size) {
  if (connection.watch.fd < 0 || connection.closing) return;
  if (!reserve(CAISSON_LIMIT_HEADER_BYTES + size)) {
    /* Without room for an answer the peer would wait for ever; a new connection tells it what is true. */
    connection.closing = true;
    return;
  }
  uint8_t *at = control + control_size;
  store32(at, (uint32_t)size);
  store32(at + 4, type);
  store32(at + 8, channel);
  if (size > 0) memcpy(at + CAISSON_LIMIT_HEADER_BYTES, payload, size);
  control_size += CAISSON_LIMIT_HEADER_BYTES + size;
}

void pong_queue(const uint8_t *payload) {
  if (pong_waits) {
    connection_violation(CAISSON_VIOLATION_UNEXPECTED_PONG);
    return;
  }
  memcpy(pong, payload, 8);
  pong_waits = true;
}

void transmit_grant(struct channel *ch) {
  if (ch->in_grants) return;
  ch->in_grants = true;
  ch->next_grant = connection.grants;
  connection.grants = ch;
}

void transmit_ready(struct channel *ch) {
  if (ch->is_ready || ch->ops == NULL || ch->ops->pull == NULL || channel_credit(ch) == 0) return;
  ch->is_ready = true;
  ch->next_ready = NULL;
  ch->prev_ready = connection.ready_tail;
  if (connection.ready_tail != NULL) connection.ready_tail->next_ready = ch;
  else connection.ready_head = ch;
  connection.ready_tail = ch;
  connection.ready_count++;
}

void transmit_unready(struct channel *ch) {
  if (!ch->is_ready) return;
  ch->is_ready = false;
  connection.ready_count--;
  if (ch->prev_ready != NULL) ch->prev_ready->next_ready = ch->next_ready;
  else connection.ready_head = ch->next_ready;
  if (ch->next_ready != NULL) ch->next_ready->prev_ready = ch->prev_ready;
  else connection.ready_tail = ch->prev_ready;
}

static void queue_grants(void) {
  while (connection.grants != NULL) {
    struct channel *ch = connection.grants;
    uint8_t credit[4];
    connection.grants = ch->next_grant;
    ch->in_grants = false;
    store32(credit, ch->grant);
    if (channel_step(&ch->state, ch->role, true, CAISSON_FRAME_WINDOW, ch->grant) == 0)
      transmit_frame(CAISSON_FRAME_WINDOW, ch->id, credit, 4);
    ch->grant = 0;
  }
}

static void add(struct batch *b, const void *at, size_t size) {
  if (size == 0) return;
  b->pieces[b->count++] = (struct iovec){(void *)(uintptr_t)at, size};
  b->bytes += size;
}

static void add_data(struct batch *b) {
  /* Alone, a channel may use the largest frame; with others, about dataAdvised each. */
  size_t turn = connection.ready_count == 1 ? CAISSON_LIMIT_PAYLOAD_MAX : CAISSON_LIMIT_DATA_ADVISED;
  size_t left = connection.ready_count;
  while (left-- > 0 && b->data_count < batch_channels && b->bytes < batch_bytes) {
    struct channel *ch = connection.ready_head;
    if (ch == NULL) return;
    transmit_unready(ch);
    struct slice pieces[2] = {{NULL, 0}, {NULL, 0}};
    size_t max = channel_credit(ch);
    if (max > turn) max = turn;
    size_t room = batch_bytes - b->bytes;
    if (room < CAISSON_LIMIT_DATA_ADVISED) room = CAISSON_LIMIT_DATA_ADVISED;
    if (max > room) max = room;
    size_t size = max == 0 ? 0 : ch->ops->pull(ch, max, pieces);
    if (size == 0) continue;
    if (channel_step(&ch->state, ch->role, true, CAISSON_FRAME_DATA, (uint32_t)size) != 0) continue;
    int i = b->data_count++;
    store32(b->headers[i], (uint32_t)size);
    store32(b->headers[i] + 4, CAISSON_FRAME_DATA);
    store32(b->headers[i] + 8, ch->id);
    b->channels[i] = ch->id;
    b->sizes[i] = size;
    add(b, b->headers[i], CAISSON_LIMIT_HEADER_BYTES);
    add(b, pieces[0].at, pieces[0].size);
    add(b, pieces[1].at, pieces[1].size);
    transmit_ready(ch);
  }
}

static void keep_rest(const struct batch *b, size_t written) {
  tail_at = tail_size = 0;
  for (int i = 0; i < b->count; i++) {
    size_t size = b->pieces[i].iov_len;
    size_t skip = written < size ? written : size;
    written -= skip;
    if (size == skip) continue;
    if (tail_size + size - skip > sizeof tail) {
      connection.closing = true;
      return;
    }
    memcpy(tail + tail_size, (uint8_t *)b->pieces[i].iov_base + skip, size - skip);
    tail_size += size - skip;
  }
}

static bool flush_tail(void) {
  while (tail_size > 0) {
    struct iovec piece = {tail + tail_at, tail_size};
    ssize_t n = writev(connection_out(), &piece, 1);
    if (n < 0) {
      if (errno != EAGAIN && errno != EINTR) connection.closing = true;
      return false;
    }
    tail_at += (size_t)n;
    tail_size -= (size_t)n;
  }
  return true;
}

/* True while the socket took everything it was offered. */
static bool write_batch(void) {
  struct batch b = {.count = 0};
  reader_batch_begin();
  uint8_t pong_frame[CAISSON_LIMIT_HEADER_BYTES + 8];
  queue_grants();
  if (pong_waits) {
    store32(pong_frame, 8);
    store32(pong_frame + 4, CAISSON_FRAME_PONG);
    store32(pong_frame + 8, 0);
    memcpy(pong_frame + CAISSON_LIMIT_HEADER_BYTES, pong, 8);
    add(&b, pong_frame, sizeof pong_frame);
  }
  /* A long queue goes alone and stays where it is: only what it is short of the tail's size would be copied. */
  size_t control_part = control_size > sizeof tail / 2 ? sizeof tail / 2 : control_size;
  add(&b, control, control_part);
  if (control_part == control_size && b.bytes < batch_bytes / 2) add_data(&b);
  if (b.count == 0) return false;
  ssize_t n = writev(connection_out(), b.pieces, b.count);
  if (n < 0) {
    if (errno != EAGAIN && errno != EINTR) {
      connection.closing = true;
      return false;
    }
    n = 0;
  }
  keep_rest(&b, (size_t)n);
  pong_waits = false;
  control_size -= control_part;
  if (control_size > 0) memmove(control, control + control_part, control_size);
  else if (control_capacity > 64 * 1024) {
    free(control);
    control = NULL;
    control_capacity = 0;
  }
  for (int i = 0; i < b.data_count; i++) {
    struct channel *ch = channel_find(b.channels[i]);
    if (ch != NULL && ch->ops != NULL) ch->ops->sent(ch, b.sizes[i]);
  }
  return tail_size == 0;
}

/* Whether all there is to send may wait for company. */
static bool may_wait(void) {
  if (hurried || tail_size > 0 || pong_waits || connection.closing) return false;
  return connection.grants == NULL && connection.ready_head == NULL;
}

static void watch_output(bool more) {
  if (connection.pipe_out.fd >= 0) loop_watch(&connection.pipe_out, more ? EPOLLOUT : 0u);
  else loop_watch(&connection.watch, EPOLLIN | (more ? EPOLLOUT : 0u));
}

void transmit_flush(void) {
  if (connection.watch.fd < 0) return;
  bool asked = connection.asked;
  connection.asked = false;
  if (may_wait()) {
    later.fire = on_later;
    if (control_size > 0 && later.slot == 0) timer_set(&later, loop_now() + later_ms);
    watch_output(false);
    return;
  }
  hurried = false;
  timer_clear(&later);
  bool open = flush_tail();
  for (int i = 0; open && !connection.closing && i < writes_per_turn; i++) open = write_batch();
  if (connection.closing) {
    connection_lost();
    return;
  }
  /* What is left of a long queue goes on when the socket takes more. */
  hurried = control_size > 0;
  /* Answered within the turn that asked: whoever has the answer may ask again at once. */
  if (asked) loop_expect();
  bool more = tail_size > 0 || !transmit_idle() || connection.ready_head != NULL;
  watch_output(more);
}
