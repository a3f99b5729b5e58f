/*
 * One request that a worker does, or will do when one is free: the owner of its channel.
 *
 * Classes, so that those that may wait long hold up nobody else: a QUICK request never waits for its client and so never
 * stalls; a STREAM waits for credit or input; a WATCH lasts until its client has enough.
 */
#ifndef CAISSON_JOB_H
#define CAISSON_JOB_H

#include "account.h"
#include "loop.h"
#include "worker.h"

enum job_class { QUICK, STREAM, WATCH, job_classes };

struct worker;

struct job {
  struct channel *channel;
  enum job_class class;
  uint16_t method;
  uint8_t *params;
  size_t params_size, params_sent;
  struct worker *worker; /* NULL while it waits for one, and once the guest reads the file itself */
  struct account *account;
  /* What the client sent and the worker had no room for. */
  uint8_t *input;
  size_t input_at, input_size, input_room;
  bool begun, input_ended, end_sent;
  /* One packet of the worker that waits for credit. */
  uint8_t *output;
  size_t output_at, output_size;
  bool first_answered;
  struct file_reader *reader;
  struct job *next; /* in the queue of its class */
};

/* The guest's half of the shared memory: a ring of which the worker frees what it says it has taken. */
struct worker_input {
  uint8_t *at;
  size_t room; /* of it that this job may use */
  size_t end, used;
};

struct worker {
  pid_t pid;
  struct watch watch;
  struct account account;
  struct job *job;
  enum job_class class;
  int64_t idle_since;
  struct timer deadline;
  struct worker_input input;
  struct worker *next;
};

/* job.c */
void job_free(struct job *job);
/* The worker's socket may take more, or has something: goes on as far as it can. */
void job_pump(struct job *job);
/* The worker is gone in the middle of it. */
void job_abandoned(struct job *job);

/* worker.c */
void worker_assign(struct job *job);
/* The job needs its worker no more; a worker that is not at rest ends. */
void worker_release(struct worker *worker, bool at_rest);
void workers_next(void);
/* The job turned out to wait for its client. False: the class has no place for it. */
bool worker_reclass(struct worker *worker, enum job_class class);
/* Gives its worker up and begins the job anew when the class has a place. */
void worker_again(struct job *job, enum job_class class);

/* worker-input.c */
bool input_open_shared(struct worker_input *in);
void input_close_shared(struct worker_input *in);
/* A job begins, or is over: many at once get less each. */
void input_begin(struct worker_input *in);
void input_over(struct worker_input *in);
/* Where the next bytes go, and how many; NULL when there is no room. */
uint8_t *input_place(struct worker_input *in, size_t *size);
/* How many of the bytes were put, and where; 0 when there is no room. Those that are at their place stay there. */
size_t input_put(struct worker_input *in, const uint8_t *bytes, size_t size, uint32_t *where);
/* The last put was not told. */
void input_unput(struct worker_input *in, size_t size);
/* The worker has taken so many. False: more than there were. */
bool input_taken(struct worker_input *in, size_t size);

/* file-reader.c */
bool reader_begin(struct job *job, int fd, uint64_t offset, uint64_t length);
size_t reader_pull(struct job *job, size_t max, struct slice pieces[2]);
void reader_sent(struct job *job, size_t size);
void reader_free(struct file_reader *reader);
void reader_batch_begin(void);
void reader_trim(void);

#endif
