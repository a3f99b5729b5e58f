/* process.spawn: checks, forks, and answers when it is known whether the program runs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <signal.h>
#include <unistd.h>

#include "../wire/error-code.h"
#include "account.h"
#include "launch.h"
#include "nothing.h"
#include "oom.h"
#include "process.h"
#include "pty.h"
#include "words.h"

/* A step is how exactly a timeout knows that the sandbox stood still; shorter ones wake the guest more often. */
enum {
  default_grace_ms = 5000,
  timeout_step_ms = 1000,
  /* How long a process is young. Most short commands are over by then; more would be felt by who starts a long one. */
  young_ms = 1,
};

/* Descriptors of the child in child[], the guest's ends in ours[] (stdin, stdout, stderr, exec). */
struct ends {
  int child[3], ours[3], exec[2];
};

static void close_all(int *fds, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (fds[i] >= 0) close(fds[i]);
}

static bool make_pipe(int *reader, int *writer, bool we_read) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return false;
  *reader = fds[0];
  *writer = fds[1];
  fcntl(we_read ? fds[0] : fds[1], F_SETFL, O_NONBLOCK);
  return true;
}

static bool make_ends(struct ends *e, struct slice params, const struct account *account) {
  struct slice size = message_bytes(params, CAISSON_TAG_PROCESS_SPAWN_PTY);
  if (!make_pipe(&e->exec[0], &e->exec[1], true)) return false;
  if (size.at != NULL) {
    uint16_t rows = (uint16_t)message_uint(size, CAISSON_TAG_PTY_SIZE_ROWS, 24);
    uint16_t columns = (uint16_t)message_uint(size, CAISSON_TAG_PTY_SIZE_COLUMNS, 80);
    if (!pty_open(rows, columns, account->uid, &e->ours[1], &e->child[0])) return false;
    e->child[1] = fcntl(e->child[0], F_DUPFD_CLOEXEC, 0);
    e->child[2] = fcntl(e->child[0], F_DUPFD_CLOEXEC, 0);
    /* Watched on its own, and the loop takes a descriptor once. */
    e->ours[0] = fcntl(e->ours[1], F_DUPFD_CLOEXEC, 0);
    return e->child[1] >= 0 && e->child[2] >= 0 && e->ours[0] >= 0;
  }
  if (message_bool(params, CAISSON_TAG_PROCESS_SPAWN_STDIN)) {
    if (!make_pipe(&e->child[0], &e->ours[0], false)) return false;
  } else if (!nothing_to_read(&e->child[0])) {
    return false;
  }
  if (!make_pipe(&e->ours[1], &e->child[1], true) || !make_pipe(&e->ours[2], &e->child[2], true)) return false;
  /* The user's own, or it could not open them again by their names: /dev/stdout, /dev/stderr. */
  for (int i = e->ours[0] < 0 ? 1 : 0; i < 3 && account->uid != 0; i++)
    (void)!fchown(e->child[i], account->uid, account->gid);
  return true;
}

/*
 * A short command ends within a moment. Whoever waits for that is woken once then, and not twice: to be told that it has
 * begun would take a processor from it.
 */
bool spawn_may_wait(const struct process *p) { return p->just_started && p->young && p->waiters != NULL; }

static void answer_spawned(struct channel *ch, const struct process *p, bool existed) {
  uint8_t buffer[64];
  struct writer w = writer_on(buffer, sizeof buffer);
  write_uint(&w, CAISSON_TAG_PROCESS_SPAWNED_PID, (uint64_t)p->pid);
  write_uint(&w, CAISSON_TAG_PROCESS_SPAWNED_STARTED_AT, (uint64_t)p->started_at);
  write_bool(&w, CAISSON_TAG_PROCESS_SPAWNED_EXISTED, existed);
  if (spawn_may_wait(p)) channel_answer_later(ch, &w);
  else channel_answer(ch, &w);
}

static void fail_spawn(struct process *p, int error, const char *directory) {
  if (p->spawning != NULL && directory != NULL)
    channel_fail(p->spawning, error_code(error), error, "the working directory %.400s: %s", directory, strerror(error));
  else if (p->spawning != NULL)
    channel_fail(p->spawning, error_code(error), error, "%s: %s", p->command, strerror(error));
  for (int i = 0; i < 2; i++) {
    struct channel *ch = p->out[i].channel;
    p->out[i].channel = NULL;
    if (ch != NULL) channel_fail(ch, CAISSON_ERROR_PROCESS_NOT_FOUND, 0, "the process did not start");
  }
  struct channel *in = p->in.channel;
  p->in.channel = NULL;
  if (in != NULL) channel_fail(in, CAISSON_ERROR_PROCESS_NOT_FOUND, 0, "the process did not start");
  while (p->waiters != NULL) {
    struct waiter *waiter = p->waiters;
    p->waiters = waiter->next;
    channel_fail(waiter->channel, CAISSON_ERROR_PROCESS_NOT_FOUND, 0, "the process did not start");
    free(waiter);
  }
  process_remove(p);
}

/*
 * The kernel should take a program before the guest when memory runs out; lowering our own score is not allowed. Not by
 * the child itself: while it shares the guest's memory the kernel would raise the score of both.
 */
static void raise_oom_score(pid_t pid) {
  char path[48];
  snprintf(path, sizeof path, "/proc/%d/oom_score_adj", (int)pid);
  int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (fd < 0) return;
  (void)!write(fd, "200", 3);
  close(fd);
}

bool spawn_settle(struct process *p) {
  int error = 0;
  /* An error comes before the end, and only the end says that the child has left our memory. */
  ssize_t n = read(p->exec.fd, &error, sizeof error);
  if (n == (ssize_t)sizeof error) p->launch->error = error;
  if (n > 0) n = read(p->exec.fd, &error, sizeof error);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  struct launch *launch = p->launch;
  error = launch->error;
  p->launch = NULL;
  if (error != 0) {
    bool entered = (error & launch_not_entered) == 0;
    fail_spawn(p, error & ~launch_not_entered, entered ? NULL : launch->cwd[0] == 0 ? "/" : launch->cwd);
    launch_give(launch);
    return true;
  }
  launch_give(launch);
  raise_oom_score(p->pid);
  loop_unwatch(&p->exec);
  close(p->exec.fd);
  p->exec.fd = -1;
  p->stage = RUNNING;
  p->just_started = true;
  if (p->spawning != NULL) answer_spawned(p->spawning, p, false);
  p->spawning = NULL;
  for (int i = 0; i < 2; i++)
    if (p->out[i].channel != NULL) attach_started(&p->out[i]);
  p->just_started = p->young = false;
  timer_clear(&p->youth);
  return true;
}

static void on_exec(struct watch *watch, uint32_t events) {
  (void)events;
  spawn_settle(container_of(watch, struct process, exec));
}

void spawn_grow_up(struct process *p) {
  if (!p->young) return;
  p->young = false;
  timer_clear(&p->youth);
  if (!spawn_settle(p)) loop_watch(&p->exec, EPOLLIN);
}

static void on_youth(struct timer *timer) { spawn_grow_up(container_of(timer, struct process, youth)); }

/* Somebody who does not wait for the end wants to know at once that it runs. */
void spawn_turn_over(void) {
  for (struct process *p = process_last(), *previous; p != NULL && p->fresh; p = previous) {
    previous = p->previous;
    p->fresh = false;
    if (p->waiters == NULL) spawn_grow_up(p);
  }
}

static void spawn_gone(struct channel *ch) { ((struct process *)ch->owner)->spawning = NULL; }
static const struct channel_ops spawn_ops = {.gone = spawn_gone};

static void on_timeout(struct timer *timer);

/*
 * The time of a process stands still with the sandbox, and nobody tells the guest of that. So it waits in steps: one that
 * took longer than the whole next one was no waiting, and counts for no more than it should have taken.
 */
static void wait_step(struct process *p, int64_t from) {
  int64_t step = p->time_left_ms < timeout_step_ms ? p->time_left_ms : timeout_step_ms;
  p->time_left_ms -= step;
  timer_set(&p->timeout, from + step);
}

static void begin_life(struct process *p, struct slice params, const struct ends *e) {
  p->exec = (struct watch){.fd = e->exec[0], .ready = on_exec};
  uint64_t ring = message_uint(params, CAISSON_TAG_PROCESS_SPAWN_RING_BYTES, CAISSON_LIMIT_RING_DEFAULT);
  p->out[0].ring.max = p->out[1].ring.max = ring;
  output_open(p, 0, e->ours[1]);
  output_open(p, 1, e->ours[2]);
  input_open(p, e->ours[0]);
  p->grace_ms = (uint32_t)message_uint(params, CAISSON_TAG_PROCESS_SPAWN_GRACE_MS, default_grace_ms);
  p->time_left_ms = (int64_t)message_uint(params, CAISSON_TAG_PROCESS_SPAWN_TIMEOUT_MS, 0);
  p->timeout.fire = on_timeout;
  if (p->time_left_ms > 0) wait_step(p, loop_now());
  p->fresh = true;
  p->young = !p->pty;
  p->youth.fire = on_youth;
  /* Looked at in the next turn at the earliest: who asked for it is not known to the process before the end of this one. */
  if (p->pty) loop_watch(&p->exec, EPOLLIN);
  else timer_set(&p->youth, loop_now() + young_ms);
}

static void on_timeout(struct timer *timer) {
  struct process *p = container_of(timer, struct process, timeout);
  if (p->timed_out) {
    /* Unless the number has become another's: then its group is long gone. */
    if (process_by_pid(p->pid) == p) kill(-p->pid, SIGKILL);
    return;
  }
  if (p->time_left_ms > 0) {
    wait_step(p, loop_now() - timer->at < timeout_step_ms ? timer->at : loop_now());
    return;
  }
  p->timed_out = true;
  kill(-p->pid, SIGTERM);
  timer_set(timer, loop_now() + p->grace_ms);
}

/* 0 or an errno. */
static int start(struct process *p, struct slice params, struct launch *launch) {
  struct ends e = {{-1, -1, -1}, {-1, -1, -1}, {-1, -1}};
  struct slice given = message_bytes(params, CAISSON_TAG_PROCESS_SPAWN_CWD);
  if (given.size > 0) memcpy(launch->cwd, given.at, given.size);
  launch->cwd[given.size] = 0;
  launch->pty = p->pty = message_has(params, CAISSON_TAG_PROCESS_SPAWN_PTY);
  int error = 0;
  p->command = words_command(params);
  if (p->command == NULL || !words_tags(p, params) || !words_gather(params, launch)) error = ENOMEM;
  else if (!make_ends(&e, params, &launch->account)) error = errno;
  if (error == 0) {
    p->started_at = wall_now();
    p->kills_before = oom_kills();
    memcpy(launch->fds, e.child, sizeof launch->fds);
    launch->error_fd = e.exec[1];
    p->pid = launch_start(launch);
    if (p->pid < 0) error = errno;
  }
  close_all(e.child, 3);
  if (e.exec[1] >= 0) close(e.exec[1]);
  if (error != 0) {
    close_all(e.ours, 3);
    if (e.exec[0] >= 0) close(e.exec[0]);
    return error;
  }
  p->launch = launch;
  process_index_pid(p);
  begin_life(p, params, &e);
  output_calm(p);
  return 0;
}

void spawn_begin(struct channel *ch, struct slice params) {
  struct slice id = message_bytes(params, CAISSON_TAG_PROCESS_SPAWN_ID);
  struct process *known = process_find((const char *)id.at, id.size);
  if (known != NULL && known->stage != STARTING) return answer_spawned(ch, known, true);
  if (known != NULL && known->spawning == NULL) {
    /* Its first caller's connection was lost before the answer. */
    known->spawning = ch;
    return channel_own(ch, &spawn_ops, known);
  }
  if (known != NULL) return channel_fail(ch, CAISSON_ERROR_BUSY, 0, "the process is being started");
  if (shutting_down()) return channel_fail(ch, CAISSON_ERROR_SHUTTING_DOWN, 0, "the sandbox ends");
  if (!message_has(params, CAISSON_TAG_PROCESS_SPAWN_ARGV))
    return channel_fail(ch, CAISSON_ERROR_INVALID_ARGUMENT, 0, "argv is empty");
  struct launch *launch = launch_take();
  if (launch == NULL) return channel_fail(ch, CAISSON_ERROR_OUT_OF_MEMORY, ENOMEM, "no memory to start a process");
  struct slice user = message_bytes(params, CAISSON_TAG_PROCESS_SPAWN_USER);
  const char *name = user.at == NULL ? "user" : (const char *)user.at;
  size_t size = user.at == NULL ? 4 : user.size;
  if (!account_find(name, size, &launch->account)) {
    launch_give(launch);
    return channel_fail(ch, CAISSON_ERROR_USER_NOT_FOUND, 0, "there is no user %.*s", (int)size, name);
  }
  struct process *p = process_add((const char *)id.at, id.size);
  if (p == NULL) {
    launch_give(launch);
    return channel_fail(ch, CAISSON_ERROR_LIMIT_REACHED, 0, "%d processes are kept", CAISSON_LIMIT_PROCESSES_MAX);
  }
  memcpy(p->user, launch->account.name, sizeof p->user);
  p->drop_when_detached = message_uint(params, CAISSON_TAG_PROCESS_SPAWN_WHEN_DETACHED, 0) ==
                          CAISSON_PROCESS_SPAWN_WHEN_DETACHED_DROP;
  int error = start(p, params, launch);
  if (error != 0) {
    launch_give(launch);
    /* What fork says where no process may be added. */
    if (error == EAGAIN) channel_fail(ch, CAISSON_ERROR_LIMIT_REACHED, error, "the sandbox has reached its limit of processes");
    else channel_fail_errno(ch, error, "the process could not be started");
    process_remove(p);
    return;
  }
  p->spawning = ch;
  channel_own(ch, &spawn_ops, p);
}
