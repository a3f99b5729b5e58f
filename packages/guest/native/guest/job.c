#include "job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../wire/bytes.h"
#include "connection.h"

enum {
  queue_bytes_max = 8 * 1024 * 1024,
  /* Uploads get more than the usual window from the start: 1 GB/s through a busy server needs about this much. */
  upload_window = worker_input_max,
  /* Input of all jobs that no worker has taken: of clients that send, to workers that wait or were stopped. */
  input_bytes_max = 32 * 1024 * 1024,
};

static size_t queued_bytes; /* parameters of all jobs */
static size_t input_bytes;  /* room for the input of all jobs */

void job_free(struct job *job) {
  queued_bytes -= job->params_size;
  input_bytes -= job->input_room;
  reader_free(job->reader);
  free(job->params);
  free(job->account);
  free(job->input);
  free(job->output);
  free(job);
}

static enum job_class class_of(uint16_t method) {
  switch (method) {
    case CAISSON_METHOD_FILE_WATCH:
      return WATCH;
    case CAISSON_METHOD_FILE_LIST:
    case CAISSON_METHOD_FILE_WRITE:
    case CAISSON_METHOD_FILE_GLOB:
    case CAISSON_METHOD_FILE_GREP:
    case CAISSON_METHOD_FILE_TAR_OUT:
    case CAISSON_METHOD_FILE_TAR_IN:
    /* These do not wait for their client, but for a disk that may be slow or a tree that may be large. */
    case CAISSON_METHOD_FILE_REMOVE:
    case CAISSON_METHOD_FILE_CHMOD:
    case CAISSON_METHOD_FILE_CHOWN:
    case CAISSON_METHOD_PORT_LIST:
    case CAISSON_METHOD_SYS_SYNC:
      return STREAM;
    default:
      return QUICK;
  }
}

/* Sends one packet; false when the socket is full or gone. */
static bool send_packet(struct job *job, uint32_t kind, uint32_t value, const uint8_t *at, size_t size) {
  uint8_t header[worker_header];
  store32(header, kind);
  store32(header + 4, value);
  struct iovec pieces[2] = {{header, sizeof header}, {(void *)(uintptr_t)at, size}};
  struct msghdr message = {.msg_iov = pieces, .msg_iovlen = size == 0 ? 1 : 2};
  return sendmsg(job->worker->watch.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

static bool send_params(struct job *job) {
  while (!job->begun || job->params_sent < job->params_size) {
    size_t size = job->params_size - job->params_sent;
    if (size > worker_packet_max) size = worker_packet_max;
    uint8_t *at = job->params + job->params_sent;
    /* The first packet has the whole size before its part of the parameters, which stand four bytes further on. */
    if (!job->begun) {
      size = size > worker_packet_max - 4 ? worker_packet_max - 4 : size;
      if (!send_packet(job, TO_BEGIN, job->method, at, size)) return false;
      job->begun = true;
    } else if (!send_packet(job, TO_MORE, 0, at, size)) {
      return false;
    }
    job->params_sent += size;
  }
  return true;
}

/* How many of the bytes the worker has now; 0 when it has room for none. */
static size_t send_some(struct job *job, const uint8_t *at, size_t size) {
  uint32_t where;
  uint8_t place[4];
  /* In parts, so that the worker writes one while the next is copied. */
  size = input_put(&job->worker->input, at, size < worker_data_max ? size : worker_data_max, &where);
  if (size == 0) return 0;
  store32(place, where);
  if (send_packet(job, TO_DATA, (uint32_t)size, place, sizeof place)) return size;
  input_unput(&job->worker->input, size);
  return 0;
}

static bool send_input(struct job *job) {
  while (job->input_size > 0) {
    size_t size = send_some(job, job->input + job->input_at, job->input_size);
    if (size == 0) return false;
    job->input_at += size;
    job->input_size -= size;
  }
  job->input_at = 0;
  if (job->input_ended && !job->end_sent) {
    if (!send_packet(job, TO_END, 0, NULL, 0)) return false;
    job->end_sent = true;
  }
  return true;
}

/* The last answer of the worker: the channel is done with, and so is the job. */
static void conclude(struct job *job, uint32_t kind, uint32_t value, const uint8_t *at, size_t size) {
  struct channel *ch = job->channel;
  struct worker *worker = job->worker;
  /* A worker that still expects input would take the next request's words for it. */
  bool at_rest = !ch->method->input || job->end_sent;
  worker_release(worker, at_rest);
  if (kind == FROM_RESULT) {
    struct writer w = {(uint8_t *)(uintptr_t)at, size, size, false};
    channel_answer(ch, &w);
  } else {
    int error = (int)(value >> 16);
    channel_fail(ch, (uint8_t)value, error, "%.*s", (int)size, (const char *)at);
  }
  job_free(job);
}

static void on_file(struct job *job, int fd, const uint8_t *at, size_t size) {
  if (fd < 0 || size < 16) {
    /* No descriptor was left to take it with. */
    struct channel *failed = job->channel;
    if (fd >= 0) close(fd);
    worker_release(job->worker, false);
    job_free(job);
    return channel_fail(failed, CAISSON_ERROR_LIMIT_REACHED, EMFILE, "too many open files");
  }
  uint64_t offset = load64(at), length = load64(at + 8);
  struct writer w = {(uint8_t *)(uintptr_t)at + 16, size - 16, size - 16, false};
  struct channel *ch = job->channel;
  worker_release(job->worker, true);
  if (!reader_begin(job, fd, offset, length)) {
    job_free(job);
    return channel_fail(ch, CAISSON_ERROR_OUT_OF_MEMORY, ENOMEM, "no memory to read");
  }
  channel_answer(ch, &w);
  free(job->output); /* the worker's packets came through it; the file does not */
  job->output = NULL;
  channel_ready(ch);
}

/* OVER: the job is freed, or is the worker's no more. */
enum outcome { GO_ON, WAIT, OVER };

static enum outcome on_packet(struct job *job, size_t size, int fd) {
  uint8_t *packet = job->output;
  uint32_t kind = load32(packet), value = load32(packet + 4);
  const uint8_t *payload = packet + worker_header;
  size -= worker_header;
  if (kind != FROM_FILE && fd >= 0) close(fd);
  switch (kind) {
    case FROM_TAKEN:
      if (value > job->channel->held || !input_taken(&job->worker->input, value)) return GO_ON;
      channel_taken(job->channel, value);
      return GO_ON;
    case FROM_DATA:
      if (size == 0) return GO_ON;
      job->output_at = worker_header;
      job->output_size = size;
      channel_ready(job->channel);
      return WAIT;
    case FROM_FILE:
      on_file(job, fd, payload, size);
      return OVER;
    case FROM_END: {
      struct channel *ch = job->channel;
      worker_release(job->worker, true);
      job_free(job);
      channel_end(ch);
      return OVER;
    }
    case FROM_RESULT:
      if (job->channel->method->answer == CAISSON_FIRST) {
        struct writer w = {packet + worker_header, size, size, false};
        if (job->class == QUICK && !worker_reclass(job->worker, STREAM)) {
          worker_again(job, STREAM);
          return OVER;
        }
        channel_answer(job->channel, &w);
        return GO_ON;
      }
      conclude(job, kind, value, payload, size);
      return OVER;
    default:
      conclude(job, kind, value, payload, size);
      return OVER;
  }
}

/* Size of the packet that is now in job->output, 0 when there is none, -1 when the worker is gone. */
static ssize_t receive_packet(struct job *job, int *fd) {
  union {
    struct cmsghdr header;
    uint8_t space[CMSG_SPACE(sizeof(int))];
  } control;
  *fd = -1;
  if (job->output == NULL) job->output = malloc(worker_header + worker_packet_max);
  if (job->output == NULL) return 0;
  struct iovec piece = {job->output, worker_header + worker_packet_max};
  struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t n = recvmsg(job->worker->watch.fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n < 0) return errno == EAGAIN || errno == EINTR ? 0 : -1;
  if (n < worker_header) return -1;
  struct cmsghdr *c = CMSG_FIRSTHDR(&message);
  if (c != NULL && c->cmsg_type == SCM_RIGHTS) memcpy(fd, CMSG_DATA(c), sizeof *fd);
  return n;
}

void job_pump(struct job *job) {
  bool more = !send_params(job) || !send_input(job);
  while (job->output_size == 0) {
    int fd;
    ssize_t n = receive_packet(job, &fd);
    if (n < 0) {
      struct worker *worker = job->worker;
      worker_release(worker, false);
      return job_abandoned(job);
    }
    if (n == 0) break;
    if (on_packet(job, (size_t)n, fd) == OVER) return;
  }
  /* While a packet waits for credit nothing is read, so that the worker waits too. */
  uint32_t events = (job->output_size == 0 ? EPOLLIN : 0u) | (more ? EPOLLOUT : 0u);
  if (events == 0) loop_unwatch(&job->worker->watch);
  else loop_watch(&job->worker->watch, events);
}

void job_abandoned(struct job *job) {
  struct channel *ch = job->channel;
  job_free(job);
  if (ch != NULL) channel_fail(ch, CAISSON_ERROR_IO_ERROR, EIO, "the worker for files ended");
}

/* As much as is needed, for most workers keep up; the window bounds it. */
static bool make_input_room(struct job *job, size_t size) {
  size_t room = job->input_room == 0 ? worker_data_max : job->input_room;
  while (room < job->input_size + size) room *= 2;
  if (room == job->input_room) return true;
  if (input_bytes - job->input_room + room > input_bytes_max) return false;
  uint8_t *grown = realloc(job->input, room);
  if (grown == NULL) return false;
  input_bytes += room - job->input_room;
  job->input = grown;
  job->input_room = room;
  return true;
}

/* Whether the worker gets what comes at once. */
static bool goes_straight(const struct job *job) {
  return job->worker != NULL && job->begun && job->params_sent == job->params_size && job->input_size == 0;
}

static uint8_t *job_place(struct channel *ch, size_t *size) {
  struct job *job = ch->owner;
  return goes_straight(job) ? input_place(&job->worker->input, size) : NULL;
}

static void job_data(struct channel *ch, const uint8_t *at, size_t size) {
  struct job *job = ch->owner;
  while (size > 0 && goes_straight(job)) {
    size_t part = send_some(job, at, size);
    if (part == 0) break;
    at += part;
    size -= part;
  }
  if (size == 0) return;
  if (!make_input_room(job, size)) {
    /* Without a worker it waits in the queue, which drops it when its turn comes. */
    bool waiting = job->worker == NULL;
    if (!waiting) worker_release(job->worker, false);
    job->channel = NULL;
    if (!waiting) job_free(job);
    return channel_fail(ch, CAISSON_ERROR_LIMIT_REACHED, ENOMEM, "too much input waits to be written");
  }
  if (job->input_at + job->input_size + size > job->input_room) {
    memmove(job->input, job->input + job->input_at, job->input_size);
    job->input_at = 0;
  }
  memcpy(job->input + job->input_at + job->input_size, at, size);
  job->input_size += size;
  if (job->worker != NULL) loop_watch(&job->worker->watch, EPOLLIN | EPOLLOUT);
}

static void job_end(struct channel *ch) {
  struct job *job = ch->owner;
  job->input_ended = true;
  if (job->worker != NULL) job_pump(job);
}

static size_t job_pull(struct channel *ch, size_t max, struct slice pieces[2]) {
  struct job *job = ch->owner;
  if (job->reader != NULL) return reader_pull(job, max, pieces);
  bool records = ch->method->output == CAISSON_RECORDS;
  if (job->output_size == 0 || (records && job->output_size > max)) return 0;
  size_t size = job->output_size < max ? job->output_size : max;
  pieces[0] = (struct slice){job->output + job->output_at, size};
  return size;
}

static void job_sent(struct channel *ch, size_t size) {
  struct job *job = ch->owner;
  if (job->reader != NULL) return reader_sent(job, size);
  job->output_at += size;
  job->output_size -= size;
  if (job->output_size == 0) job_pump(job);
}

static void job_gone(struct channel *ch) {
  struct job *job = ch->owner;
  job->channel = NULL;
  if (job->worker != NULL) {
    worker_release(job->worker, false);
    job_free(job);
  } else if (job->reader != NULL) {
    job_free(job);
  }
  /* Otherwise it waits in a queue, which frees it in its turn. */
}

static const struct channel_ops job_ops = {
  .data = job_data,
  .place = job_place,
  .end = job_end,
  .pull = job_pull,
  .sent = job_sent,
  .gone = job_gone,
};

static void begin_as(struct channel *ch, struct slice params, const char *user, size_t user_size) {
  struct job *job = calloc(1, sizeof *job);
  struct account *account = malloc(sizeof *account);
  uint8_t *copy = malloc(params.size + 4);
  bool room = queued_bytes + params.size + 4 <= queue_bytes_max;
  bool known = account != NULL && account_find(user, user_size, account);
  if (job == NULL || account == NULL || copy == NULL || !known || !room) {
    free(job);
    free(account);
    free(copy);
    if (!room) return channel_fail(ch, CAISSON_ERROR_LIMIT_REACHED, 0, "too many requests wait");
    if (account != NULL && !known)
      return channel_fail(ch, CAISSON_ERROR_USER_NOT_FOUND, 0, "there is no user %.*s", (int)user_size, user);
    return channel_fail(ch, CAISSON_ERROR_OUT_OF_MEMORY, ENOMEM, "no memory for the request");
  }
  store32(copy, (uint32_t)params.size);
  if (params.size > 0) memcpy(copy + 4, params.at, params.size);
  *job = (struct job){.channel = ch, .method = ch->method->number, .params = copy, .params_size = params.size + 4,
                      .account = account, .class = class_of(ch->method->number)};
  queued_bytes += job->params_size;
  channel_own(ch, &job_ops, job);
  if (ch->method->input) {
    ch->receive_window = upload_window;
    ch->grant = upload_window - CAISSON_LIMIT_WINDOW_INITIAL;
    transmit_grant(ch);
  }
  worker_assign(job);
}

/* The tag of `user` is 2 in every file method but move and symlink. */
void worker_begin(struct channel *ch, struct slice params) {
  uint16_t method = ch->method->number;
  uint16_t tag = method == CAISSON_METHOD_FILE_MOVE || method == CAISSON_METHOD_FILE_SYMLINK ? 3 : 2;
  struct slice user = message_bytes(params, tag);
  if (user.at == NULL) user = (struct slice){(const uint8_t *)"user", 4};
  begin_as(ch, params, (const char *)user.at, user.size);
}

void worker_begin_as_root(struct channel *ch, struct slice params) { begin_as(ch, params, "root", 4); }
