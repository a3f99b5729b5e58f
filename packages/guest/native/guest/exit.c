/* The end of processes: reaping, why it ended, who waits for it, and the end of all of them. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "connection.h"
#include "oom.h"
#include "process.h"
#include "worker.h"

enum {
  /* A terminal tells its end a moment after its program's. */
  pty_drain_ms = 100,
  after_kill_ms = 2000,
};

static struct {
  bool begun, killed;
  struct channel *channel;
  size_t ended;
  struct timer timer;
} ending;

void write_exit(struct writer *w, const struct exit_status *e) {
  write_uint(w, CAISSON_TAG_EXIT_STATUS_WHY, e->why);
  if (WIFEXITED(e->wait_status)) write_uint(w, CAISSON_TAG_EXIT_STATUS_CODE, (uint64_t)WEXITSTATUS(e->wait_status));
  else write_uint(w, CAISSON_TAG_EXIT_STATUS_SIGNAL, (uint64_t)WTERMSIG(e->wait_status));
  write_uint(w, CAISSON_TAG_EXIT_STATUS_ENDED_AT, (uint64_t)e->ended_at);
  write_uint(w, CAISSON_TAG_EXIT_STATUS_STDOUT_BYTES, e->bytes[0]);
  write_uint(w, CAISSON_TAG_EXIT_STATUS_STDERR_BYTES, e->bytes[1]);
  write_uint(w, CAISSON_TAG_EXIT_STATUS_CPU_MILLISECONDS, e->cpu_ms);
  write_uint(w, CAISSON_TAG_EXIT_STATUS_MAX_RSS_KI_B, e->max_rss_kib);
}

static void answer_exit(struct channel *ch, const struct process *p) {
  uint8_t buffer[256];
  struct writer w = writer_on(buffer, sizeof buffer);
  write_exit(&w, &p->exit);
  channel_answer(ch, &w);
}

static void settle(struct process *p) {
  timer_clear(&p->drain);
  p->stage = ENDED;
  for (int i = 0; i < 2; i++) p->exit.bytes[i] = p->out[i].ring.end;
  while (p->waiters != NULL) {
    struct waiter *waiter = p->waiters;
    p->waiters = waiter->next;
    answer_exit(waiter->channel, p);
    free(waiter);
  }
}

/* The kernel hangs a terminal up when its session's leader ends. One that does not say so by now (gVisor's) never will. */
static void on_drain(struct timer *timer) {
  struct process *p = container_of(timer, struct process, drain);
  output_over(&p->out[0]);
  settle(p);
}

static uint8_t why(const struct process *p, int status) {
  if (p->timed_out) return CAISSON_EXIT_STATUS_WHY_TIMED_OUT;
  if (ending.begun) return CAISSON_EXIT_STATUS_WHY_KILLED_WITH_SANDBOX;
  if (WIFEXITED(status)) return CAISSON_EXIT_STATUS_WHY_EXITED;
  if (WTERMSIG(status) == SIGKILL && !p->kill_asked && oom_take_kill(p->kills_before))
    return CAISSON_EXIT_STATUS_WHY_OUT_OF_MEMORY;
  return CAISSON_EXIT_STATUS_WHY_SIGNALLED;
}

static int64_t milliseconds(struct timeval t) { return (int64_t)t.tv_sec * 1000 + t.tv_usec / 1000; }

static void on_exit_of(pid_t pid, int status, const struct rusage *usage) {
  struct process *p = process_by_pid(pid);
  if (p != NULL && p->stage == STARTING) {
    if (p->young) spawn_grow_up(p);
    else spawn_settle(p);
    p = process_by_pid(pid);
  }
  if (p == NULL || p->exit_known) return;
  p->exit_known = true;
  output_calm_end(p);
  p->exit.why = why(p, status);
  p->exit.wait_status = status;
  p->exit.ended_at = wall_now();
  p->exit.cpu_ms = (uint64_t)(milliseconds(usage->ru_utime) + milliseconds(usage->ru_stime));
  p->exit.max_rss_kib = (uint64_t)usage->ru_maxrss;
  /* A timeout that has already spoken still has its KILL for the rest of the group. */
  if (!p->timed_out) timer_clear(&p->timeout);
  for (int i = 0; i < 2; i++) output_drain(&p->out[i]);
  struct input *in = &p->in;
  struct channel *writing = in->channel;
  in->channel = NULL;
  uint64_t written = in->written;
  input_close(in);
  if (writing != NULL) {
    uint8_t buffer[64];
    struct writer w = writer_on(buffer, sizeof buffer);
    write_uint(&w, CAISSON_TAG_PROCESS_STDIN_DONE_WRITTEN, written);
    write_bool(&w, CAISSON_TAG_PROCESS_STDIN_DONE_CLOSED, true);
    channel_answer(writing, &w);
  }
  if (p->pty && p->out[0].watch.fd >= 0) {
    p->drain.fire = on_drain;
    timer_set(&p->drain, loop_now() + pty_drain_ms);
  } else {
    settle(p);
  }
}

bool shutting_down(void) { return ending.begun; }

static void kill_all(int signal) {
  if (getpid() == 1) kill(-1, signal);
  for (struct process *p = process_first(); p != NULL; p = p->next)
    if (!p->exit_known) kill(-p->pid, signal);
}

static void leave(void) {
  uint8_t buffer[64];
  struct writer w = writer_on(buffer, sizeof buffer);
  if (ending.channel != NULL) {
    write_uint(&w, CAISSON_TAG_SYS_SHUTDOWN_RESULT_ENDED, ending.ended);
    channel_answer(ending.channel, &w);
  }
  w = writer_on(buffer, sizeof buffer);
  write_uint(&w, CAISSON_TAG_GOAWAY_REASON, CAISSON_GOAWAY_REASON_SANDBOX_ENDS);
  write_text(&w, CAISSON_TAG_GOAWAY_MESSAGE, "the sandbox ends");
  transmit_frame(CAISSON_FRAME_GOAWAY, 0, w.at, w.size);
  dial_stop();
  transmit_flush();
  _exit(0);
}

static void leave_if_last(bool no_children) {
  if (!ending.begun || process_count(RUNNING) + process_count(STARTING) > 0) return;
  if (getpid() == 1 && !no_children && !ending.killed) return;
  leave();
}

static void on_ending(struct timer *timer) {
  if (ending.killed) leave();
  ending.killed = true;
  kill_all(SIGKILL);
  timer_set(timer, loop_now() + after_kill_ms);
}

void shutdown_now(int64_t grace_ms) {
  if (ending.begun) return;
  ending.begun = true;
  ending.ended = process_count(RUNNING) + process_count(STARTING);
  ending.timer.fire = on_ending;
  kill_all(SIGTERM);
  timer_set(&ending.timer, loop_now() + grace_ms);
  reap_children();
}

void reap_children(void) {
  struct rusage usage;
  int status;
  pid_t pid;
  while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0)
    if (!worker_reaped(pid)) on_exit_of(pid, status, &usage);
  leave_if_last(pid < 0 && errno == ECHILD);
}

static void ending_gone(struct channel *ch) {
  (void)ch;
  ending.channel = NULL;
}
static const struct channel_ops ending_ops = {.gone = ending_gone};

void shutdown_begin(struct channel *ch, struct slice params) {
  if (ending.channel != NULL) return channel_fail(ch, CAISSON_ERROR_BUSY, 0, "the sandbox ends already");
  ending.channel = ch;
  channel_own(ch, &ending_ops, NULL);
  shutdown_now((int64_t)message_uint(params, CAISSON_TAG_SYS_SHUTDOWN_GRACE_MS, 0));
}

static void wait_gone(struct channel *ch) {
  struct waiter *waiter = ch->owner, **link = &waiter->process->waiters;
  while (*link != waiter) link = &(*link)->next;
  *link = waiter->next;
  free(waiter);
}
static const struct channel_ops wait_ops = {.gone = wait_gone};

void wait_begin(struct channel *ch, struct slice params) {
  struct process *p = process_of(ch, params, CAISSON_TAG_PROCESS_WAIT_ID);
  if (p == NULL) return;
  if (p->stage == ENDED) return answer_exit(ch, p);
  struct waiter *waiter = malloc(sizeof *waiter);
  if (waiter == NULL) return channel_fail(ch, CAISSON_ERROR_OUT_OF_MEMORY, ENOMEM, "no memory to wait");
  *waiter = (struct waiter){ch, p, p->waiters};
  p->waiters = waiter;
  channel_own(ch, &wait_ops, waiter);
}
