/*
 * Processes. They outlive channels and connections: a process has the id its caller chose, its output is kept in rings
 * by offset, and its exit status stays until it is forgotten.
 *
 * Stages: STARTING (forked; whether the program could be run is not known yet), RUNNING, ENDED. A program that cannot
 * be run is no process: it leaves from STARTING, and its id is free again.
 */
#ifndef CAISSON_PROCESS_H
#define CAISSON_PROCESS_H

#include <sys/resource.h>
#include <sys/types.h>

#include "channel.h"
#include "loop.h"
#include "ring.h"

#define container_of(pointer, type, member) ((type *)(void *)((char *)(pointer) - offsetof(type, member)))

enum stage { STARTING, RUNNING, ENDED };

struct process;
struct launch;

/* One output stream. `seen` is the first byte that a client may still need. */
struct output {
  struct process *process;
  struct watch watch; /* fd < 0: every writer has closed it, or it never was */
  struct ring ring;
  struct channel *channel; /* the attachment */
  uint64_t from;           /* what the attachment asked for */
  uint64_t sent, seen;
  bool large_pipe;
};

struct input {
  struct watch watch; /* fd < 0: closed */
  struct channel *channel;
  uint64_t written, skip;
  uint8_t *pending;
  size_t pending_at, pending_size;
  bool ended; /* the client's end came; close after what is pending */
  bool within_line; /* the last byte ended no line of a terminal */
};

struct waiter {
  struct channel *channel;
  struct process *process;
  struct waiter *next;
};

struct exit_status {
  uint8_t why;
  int wait_status;
  int64_t ended_at;
  uint64_t bytes[2];
  uint64_t cpu_ms, max_rss_kib;
};

struct process {
  char id[33], user[33];
  enum stage stage;
  pid_t pid;
  bool pty, drop_when_detached, timed_out, exit_known, just_started;
  bool fresh; /* of this turn */
  bool kill_asked; /* somebody sent KILL through us, so it was not the kernel */
  bool young; /* whether it runs is not looked at yet: the look would take a processor from a command that is soon over */
  char *command; /* with its NUL */
  char *tags;    /* each with its NUL */
  size_t tag_count;
  int64_t started_at;
  uint64_t signal_sequence;
  uint64_t kills_before; /* for memory, in the whole sandbox, when it began */
  uint32_t grace_ms;
  int64_t time_left_ms; /* after the step that is being waited for */
  struct output out[2];
  struct input in;
  struct watch exec; /* end of file: the program runs; four bytes: the errno why not */
  struct launch *launch; /* until the program runs */
  struct channel *spawning;
  struct waiter *waiters;
  struct exit_status exit;
  struct timer timeout, drain, youth;
  struct process *next_by_id, *next_by_pid, *next, *previous;
};

struct process *process_find(const char *id, size_t size);
struct process *process_by_pid(pid_t pid);
struct process *process_first(void); /* oldest first, by ->next */
struct process *process_last(void);
size_t process_count(enum stage stage);
struct process *process_add(const char *id, size_t size);
void process_index_pid(struct process *p);
/* Frees everything; its channels must be gone. */
void process_remove(struct process *p);
/* Gives memory back that no process uses. */
void process_trim(void);

/* spawn.c */
void spawn_begin(struct channel *ch, struct slice params);
/* Reads what the child says of its exec; true when that is known now. */
bool spawn_settle(struct process *p);
/* Whether it runs is looked at from now on. May remove it, when its program could not be run. */
void spawn_grow_up(struct process *p);
/* At the end of each turn. */
void spawn_turn_over(void);
/* Whether the news that it runs may wait a moment for its first output or its end. */
bool spawn_may_wait(const struct process *p);

/* output.c */
void output_open(struct process *p, int stream, int fd);
void output_resume(struct output *o);
/* Takes what the pipe holds now, whatever the ring's maximum says. */
void output_drain(struct output *o);
void output_close(struct output *o);
/* Takes what is there, and then it is over, whoever still has the other end. */
void output_over(struct output *o);
/* The process has been started, or has ended: between the two, for a moment, bulk of others waits. */
void output_calm(const struct process *p);
void output_calm_end(const struct process *p);
void attach_begin(struct channel *ch, struct slice params);
void attach_started(struct output *o);

/* input.c */
void input_open(struct process *p, int fd);
void input_close(struct input *in);
void stdin_begin(struct channel *ch, struct slice params);

/* exit.c */
void reap_children(void);
void wait_begin(struct channel *ch, struct slice params);
void write_exit(struct writer *w, const struct exit_status *e);
bool shutting_down(void);
void shutdown_begin(struct channel *ch, struct slice params);
void shutdown_now(int64_t grace_ms);

/* process-methods.c */
void signal_begin(struct channel *ch, struct slice params);
void resize_begin(struct channel *ch, struct slice params);
void process_list_begin(struct channel *ch, struct slice params);
void forget_begin(struct channel *ch, struct slice params);
/* Fails the channel and gives NULL when there is no such process. */
struct process *process_of(struct channel *ch, struct slice params, uint16_t tag);

#endif
