/*
 * Streams a regular file that a worker has opened as its user. The guest reads it itself: that saves two copies, and a
 * client that reads slowly holds a descriptor and not a process.
 *
 * Reading does not wait for the disk: what is not in memory is asked for, and tried again a little later. Only after
 * a second of tries the loop waits for one piece: a disk that cannot be read says so only to one who waits. Files of
 * filesystems that cannot say what is in memory stay with the worker.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "connection.h"
#include "job.h"
#include "process.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x00000008
#endif

enum { patience = 64, ahead_bytes = 512 * 1024, scratch_bytes = CAISSON_LIMIT_PAYLOAD_MAX + 64 * 1024 };

struct file_reader {
  struct job *job;
  int fd;
  uint64_t offset, left;
  unsigned tries;
  int error;
  bool ended;
  struct timer timer;
};

/* What the pulls of one batch have read; the batch is written before the next begins. */
static uint8_t scratch[scratch_bytes] __attribute__((aligned(4096)));
static size_t scratch_used;

void reader_batch_begin(void) { scratch_used = 0; }

void reader_trim(void) { madvise(scratch, sizeof scratch, MADV_DONTNEED); }

void reader_free(struct file_reader *reader) {
  if (reader == NULL) return;
  timer_clear(&reader->timer);
  close(reader->fd);
  free(reader);
}

/* Ends the channel, or tries again. Not within a pull, which may change nothing. */
static void on_timer(struct timer *timer) {
  struct file_reader *reader = container_of(timer, struct file_reader, timer);
  struct job *job = reader->job;
  struct channel *ch = job->channel;
  if (!reader->ended && reader->error == 0) return channel_ready(ch);
  int error = reader->error;
  job_free(job);
  if (error != 0) channel_fail_errno(ch, error, "read");
  else channel_end(ch);
}

static ssize_t read_some(struct file_reader *reader, uint8_t *at, size_t size) {
  struct iovec piece = {at, size};
  if (reader->tries < patience) {
    ssize_t n = syscall(SYS_preadv2, reader->fd, &piece, 1, (long)reader->offset, 0L, RWF_NOWAIT);
    if (n >= 0 || errno != EOPNOTSUPP) return n;
  }
  return pread(reader->fd, at, size, (off_t)reader->offset);
}

size_t reader_pull(struct job *job, size_t max, struct slice pieces[2]) {
  struct file_reader *reader = job->reader;
  if (reader->ended || reader->error != 0 || reader->timer.slot != 0) return 0;
  if (max > sizeof scratch - scratch_used) max = sizeof scratch - scratch_used;
  if (max > reader->left) max = (size_t)reader->left;
  if (max == 0 && reader->left > 0) return 0;
  ssize_t n = max == 0 ? 0 : read_some(reader, scratch + scratch_used, max);
  if (n > 0) {
    reader->tries = 0;
    pieces[0] = (struct slice){scratch + scratch_used, (size_t)n};
    scratch_used += (size_t)n;
    return (size_t)n;
  }
  int64_t wait = 0;
  if (n == 0) reader->ended = true;
  else if (errno != EAGAIN) reader->error = errno;
  else {
    readahead(reader->fd, (off_t)reader->offset, ahead_bytes);
    wait = 1 + reader->tries++ / 2;
  }
  timer_set(&reader->timer, loop_now() + wait);
  return 0;
}

void reader_sent(struct job *job, size_t size) {
  struct file_reader *reader = job->reader;
  reader->offset += size;
  reader->left -= size;
  if (reader->left > 0) return;
  struct channel *ch = job->channel;
  job_free(job);
  channel_end(ch);
}

bool reader_begin(struct job *job, int fd, uint64_t offset, uint64_t length) {
  struct file_reader *reader = calloc(1, sizeof *reader);
  if (reader == NULL) {
    close(fd);
    return false;
  }
  *reader = (struct file_reader){.job = job, .fd = fd, .offset = offset, .left = length, .timer = {.fire = on_timer}};
  job->reader = reader;
  if (length == 0) {
    reader->ended = true;
    timer_set(&reader->timer, loop_now());
  }
  return true;
}
