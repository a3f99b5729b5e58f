/* Output of processes: from the pipe into the ring, from the ring to the one attachment. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "process.h"

enum {
  /* Read in one turn from one stream; more would make the others wait. */
  turn_bytes = 256 * 1024,
  /* A pipe that was once found full gets this size: fewer wake-ups of both sides. Not from the start: it costs time. */
  large_pipe_bytes = 256 * 1024,
  /* A command that has not ended by then is no short one. More of it would be felt as a stutter of the bulk. */
  calm_ms = 3,
  /* What waits in a ring beyond this is bulk. */
  calm_bytes = 64 * 1024,
};

/* The first byte that must stay in the ring. */
static uint64_t floor_of(const struct output *o) {
  if (o->channel != NULL || !o->process->drop_when_detached) return o->seen;
  return o->ring.end;
}

void output_close(struct output *o) {
  loop_unwatch(&o->watch);
  if (o->watch.fd >= 0) close(o->watch.fd);
  o->watch.fd = -1;
}

static void finish_if_all_sent(struct output *o) {
  struct channel *ch = o->channel;
  if (ch == NULL || o->watch.fd >= 0 || o->sent < o->ring.end || o->process->stage == STARTING) return;
  o->seen = o->ring.end;
  o->channel = NULL;
  /* Mostly the end of the process is a moment behind it, and is what is waited for. */
  channel_end_later(ch);
}

/* What the pipe has, as far as one turn and the ring go. */
static void take(struct output *o) {
  for (size_t total = 0; total < turn_bytes;) {
    size_t room;
    o->ring.floor = floor_of(o);
    uint8_t *at = ring_room(&o->ring, &room);
    /* Full: the process waits. A silenced watch would still report a hang-up without end, so it goes. */
    if (at == NULL) return loop_unwatch(&o->watch);
    ssize_t n = read(o->watch.fd, at, room);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    /* End of a pipe; EIO is the end of a terminal. */
    if (n <= 0) return output_close(o);
    ring_add(&o->ring, (size_t)n);
    total += (size_t)n;
    if (n >= 65536 && !o->large_pipe) {
      o->large_pipe = true;
      fcntl(o->watch.fd, F_SETPIPE_SZ, large_pipe_bytes);
    }
    if ((size_t)n < room) return;
  }
}

static void on_output(struct watch *watch, uint32_t events) {
  struct output *o = container_of(watch, struct output, watch);
  /* It speaks, so it runs; and if it does not, there is no process any more. */
  pid_t pid = o->process->pid;
  if (o->process->young && (events & EPOLLIN) != 0 && spawn_settle(o->process) && process_by_pid(pid) == NULL) return;
  /* An end with nothing before it: a command that says nothing costs no ring. */
  if ((events & (EPOLLIN | EPOLLHUP)) == EPOLLHUP && !o->process->pty) output_close(o);
  else take(o);
  if (o->channel == NULL) return;
  finish_if_all_sent(o);
  if (o->channel != NULL && o->process->stage != STARTING) channel_ready(o->channel);
}

void output_open(struct process *p, int stream, int fd) {
  struct output *o = &p->out[stream];
  o->watch = (struct watch){.fd = fd, .ready = on_output};
  if (fd >= 0) loop_watch(&o->watch, EPOLLIN);
}

void output_resume(struct output *o) {
  if (o->watch.fd >= 0) loop_watch(&o->watch, EPOLLIN);
}

void output_drain(struct output *o) {
  int waiting = 0;
  if (o->watch.fd < 0 || ioctl(o->watch.fd, FIONREAD, &waiting) != 0) return;
  while (waiting > 0) {
    size_t room;
    o->ring.floor = floor_of(o);
    uint8_t *at = ring_room(&o->ring, &room);
    if (at == NULL && ring_make_room(&o->ring, (size_t)waiting)) at = ring_room(&o->ring, &room);
    if (at == NULL) return;
    ssize_t n = read(o->watch.fd, at, room < (size_t)waiting ? room : (size_t)waiting);
    if (n <= 0) break;
    ring_add(&o->ring, (size_t)n);
    waiting -= (int)n;
  }
  struct pollfd now = {.fd = o->watch.fd, .events = POLLIN};
  if (poll(&now, 1, 0) == 1) on_output(&o->watch, (uint32_t)now.revents);
}

/*
 * Bulk waits while a command starts: a short one is then over before the pump, the server that reads it and the program
 * that fills it have used up their slices of the processors. Bounded, so that many commands slow bulk and never stop it.
 */
static struct {
  struct timer timer;
  const struct process *for_process;
} calm;

static void calm_over(struct timer *timer) {
  (void)timer;
  calm.for_process = NULL;
  for (struct process *p = process_first(); p != NULL; p = p->next)
    for (int i = 0; i < 2; i++)
      if (p->out[i].channel != NULL && p->stage != STARTING) channel_ready(p->out[i].channel);
}

void output_calm(const struct process *p) {
  calm.timer.fire = calm_over;
  calm.for_process = p;
  timer_set(&calm.timer, loop_now() + calm_ms);
}

void output_calm_end(const struct process *p) {
  if (calm.for_process != p) return;
  timer_clear(&calm.timer);
  calm_over(&calm.timer);
}

void output_over(struct output *o) {
  output_drain(o);
  output_close(o);
  finish_if_all_sent(o);
  if (o->channel != NULL) channel_ready(o->channel);
}

static size_t attach_pull(struct channel *ch, size_t max, struct slice pieces[2]) {
  struct output *o = ch->owner;
  if (o->process->stage == STARTING) return 0;
  if (calm.for_process != NULL && o->ring.end - o->sent > calm_bytes) return 0;
  return ring_read(&o->ring, o->sent, max, pieces);
}

static void attach_sent(struct channel *ch, size_t size) {
  struct output *o = ch->owner;
  o->sent += size;
  finish_if_all_sent(o);
}

static void attach_credit(struct channel *ch, uint32_t size) {
  struct output *o = ch->owner;
  o->seen += size;
  if (o->seen > o->sent) o->seen = o->sent;
  output_resume(o);
}

static void attach_gone(struct channel *ch) {
  struct output *o = ch->owner;
  o->channel = NULL;
  output_resume(o);
}

static const struct channel_ops attach_ops = {
  .pull = attach_pull,
  .sent = attach_sent,
  .credit = attach_credit,
  .gone = attach_gone,
};

/* The answer, once the process is known to run. */
void attach_started(struct output *o) {
  struct channel *ch = o->channel;
  uint64_t at = o->from < o->ring.start ? o->ring.start : o->from;
  o->sent = o->seen = at;
  uint8_t buffer[64];
  struct writer w = writer_on(buffer, sizeof buffer);
  write_uint(&w, CAISSON_TAG_PROCESS_ATTACHED_AT, at);
  write_uint(&w, CAISSON_TAG_PROCESS_ATTACHED_LOST, at - o->from);
  if (spawn_may_wait(o->process)) channel_answer_later(ch, &w);
  else channel_answer(ch, &w);
  finish_if_all_sent(o);
  if (o->channel == NULL) return;
  output_resume(o);
  channel_ready(ch);
}

void attach_begin(struct channel *ch, struct slice params) {
  struct process *p = process_of(ch, params, CAISSON_TAG_PROCESS_ATTACH_ID);
  if (p == NULL) return;
  uint64_t stream = message_uint(params, CAISSON_TAG_PROCESS_ATTACH_STREAM, 1);
  struct output *o = &p->out[stream == CAISSON_PROCESS_ATTACH_STREAM_STDERR ? 1 : 0];
  uint64_t from = message_uint(params, CAISSON_TAG_PROCESS_ATTACH_FROM, 0);
  if (o->channel != NULL) return channel_fail(ch, CAISSON_ERROR_BUSY, 0, "the stream is attached already");
  if (from > o->ring.end)
    return channel_fail(ch, CAISSON_ERROR_INVALID_ARGUMENT, 0, "only %llu bytes were read",
                        (unsigned long long)o->ring.end);
  o->channel = ch;
  o->from = from;
  channel_own(ch, &attach_ops, o);
  if (p->stage != STARTING) attach_started(o);
}
