/* Input of processes: written exactly once, by offset; credit is given for what the pipe took. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "process.h"
#include "pty.h"

enum { end_of_file = 4 };

static void answer_done(struct input *in, bool closed) {
  struct channel *ch = in->channel;
  if (ch == NULL) return;
  uint8_t buffer[64];
  struct writer w = writer_on(buffer, sizeof buffer);
  write_uint(&w, CAISSON_TAG_PROCESS_STDIN_DONE_WRITTEN, in->written);
  write_bool(&w, CAISSON_TAG_PROCESS_STDIN_DONE_CLOSED, closed);
  in->channel = NULL;
  channel_answer(ch, &w);
}

static void forget_pending(struct input *in) {
  free(in->pending);
  in->pending = NULL;
  in->pending_at = in->pending_size = 0;
}

void input_close(struct input *in) {
  forget_pending(in);
  loop_unwatch(&in->watch);
  if (in->watch.fd >= 0) close(in->watch.fd);
  in->watch.fd = -1;
}

static void peer_closed(struct input *in) {
  struct process *p = container_of(in, struct process, in);
  /* The last end of a terminal stays for as long as its program: a hang-up would kill one that is about to exit. */
  if (p->pty && !p->exit_known) {
    forget_pending(in);
    loop_unwatch(&in->watch);
    in->ended = false;
  } else {
    input_close(in);
  }
  answer_done(in, true);
}

/* Bytes the pipe took; -1 when nobody reads it any more. */
static ssize_t put(struct input *in, const uint8_t *at, size_t size) {
  ssize_t n = write(in->watch.fd, at, size);
  if (n > 0) in->within_line = at[n - 1] != '\n' && at[n - 1] != '\r' && at[n - 1] != end_of_file;
  if (n >= 0) return n;
  return errno == EAGAIN || errno == EINTR ? 0 : -1;
}

static void end_if_done(struct input *in) {
  if (!in->ended || in->pending_size > 0) return;
  struct process *p = container_of(in, struct process, in);
  if (p->pty) {
    /*
     * The end-of-file character; a terminal has no other end that leaves its output alone. Within a line the first one
     * only gives the program what there is of it.
     */
    const uint8_t ends[2] = {end_of_file, end_of_file};
    ssize_t wanted = in->within_line && pty_by_line(in->watch.fd) ? 2 : 1, n = put(in, ends, (size_t)wanted);
    if (n >= 0 && n < wanted) {
      /* The terminal's queue is full: when its program has read some of it. */
      loop_watch(&in->watch, EPOLLOUT);
      return;
    }
    in->ended = false;
  } else {
    in->ended = false;
    input_close(in);
  }
  answer_done(in, false);
}

static void flush_pending(struct input *in) {
  while (in->pending_size > 0) {
    ssize_t n = put(in, in->pending + in->pending_at, in->pending_size);
    if (n < 0) return peer_closed(in);
    if (n == 0) break;
    in->pending_at += (size_t)n;
    in->pending_size -= (size_t)n;
    in->written += (size_t)n;
    if (in->channel != NULL) channel_taken(in->channel, (size_t)n);
  }
  if (in->pending_size == 0) forget_pending(in);
  end_if_done(in);
  if (in->watch.fd < 0) return;
  /* With nothing to write only the closing of the other end is of interest, and only to a channel. */
  if (in->pending_size > 0 || in->ended) loop_watch(&in->watch, EPOLLOUT);
  else if (in->channel != NULL) loop_watch(&in->watch, 0);
  else loop_unwatch(&in->watch);
}

static void on_writable(struct watch *watch, uint32_t events) {
  struct input *in = container_of(watch, struct input, watch);
  if (events & (EPOLLERR | EPOLLHUP) && in->pending_size == 0) return peer_closed(in);
  flush_pending(in);
}

void input_open(struct process *p, int fd) { p->in.watch = (struct watch){.fd = fd, .ready = on_writable}; }

static bool keep(struct input *in, const uint8_t *at, size_t size) {
  if (in->pending == NULL) {
    in->pending = malloc(CAISSON_LIMIT_WINDOW_INITIAL);
    if (in->pending == NULL) return false;
  }
  /* The window is the capacity, so what it granted always fits. */
  if (in->pending_at + in->pending_size + size > CAISSON_LIMIT_WINDOW_INITIAL) {
    memmove(in->pending, in->pending + in->pending_at, in->pending_size);
    in->pending_at = 0;
  }
  memcpy(in->pending + in->pending_at + in->pending_size, at, size);
  in->pending_size += size;
  return true;
}

static void stdin_data(struct channel *ch, const uint8_t *at, size_t size) {
  struct input *in = ch->owner;
  if (in->skip > 0) {
    size_t n = in->skip < size ? (size_t)in->skip : size;
    in->skip -= n;
    at += n;
    size -= n;
    channel_taken(ch, n);
    if (size == 0) return;
  }
  if (in->pending_size == 0) {
    ssize_t n = put(in, at, size);
    if (n < 0) return peer_closed(in);
    at += n;
    size -= (size_t)n;
    in->written += (size_t)n;
    if (size == 0) return channel_taken(ch, (size_t)n);
    if (n > 0) ch->held -= (uint32_t)n, ch->ungranted += (uint32_t)n;
  }
  if (!keep(in, at, size)) {
    in->channel = NULL;
    return channel_fail(ch, CAISSON_ERROR_OUT_OF_MEMORY, ENOMEM, "no memory for stdin");
  }
  loop_watch(&in->watch, EPOLLOUT);
}

static void stdin_end(struct channel *ch) {
  struct input *in = ch->owner;
  in->ended = true;
  end_if_done(in);
}

/* Reset or lost: what the pipe has not taken is dropped, and stdin stays open. */
static void stdin_gone(struct channel *ch) {
  struct input *in = ch->owner;
  in->channel = NULL;
  in->ended = false;
  forget_pending(in);
  loop_unwatch(&in->watch);
}

static const struct channel_ops stdin_ops = {.data = stdin_data, .end = stdin_end, .gone = stdin_gone};

void stdin_begin(struct channel *ch, struct slice params) {
  struct process *p = process_of(ch, params, CAISSON_TAG_PROCESS_STDIN_ID);
  if (p == NULL) return;
  struct input *in = &p->in;
  uint64_t offset = message_uint(params, CAISSON_TAG_PROCESS_STDIN_OFFSET, in->written);
  if (in->channel != NULL) return channel_fail(ch, CAISSON_ERROR_BUSY, 0, "stdin is being written already");
  if (offset > in->written)
    return channel_fail(ch, CAISSON_ERROR_INVALID_ARGUMENT, 0, "stdin has taken %llu bytes",
                        (unsigned long long)in->written);
  in->channel = ch;
  in->skip = in->written - offset;
  channel_own(ch, &stdin_ops, in);
  if (in->watch.fd < 0 || p->stage == ENDED) answer_done(in, true);
  else loop_watch(&in->watch, 0);
}
