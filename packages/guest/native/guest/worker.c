/* The workers: started when a request needs one, kept while they are warm, ended when a request is cancelled. */
#include "worker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connection.h"
#include "descriptors.h"
#include "job.h"
#include "leaving.h"
#include "process.h"

enum {
  /* A worker costs a process of the sandbox's limit and some hundred KB; a cold start costs about 0.2 ms. */
  idle_max = 4,
  idle_ms = 2000,
  /* A quick request waits for nobody; one that takes this long hangs, or was stopped. */
  quick_ms = 30000,
};

/*
 * Busy at once. QUICK is bounded by the processors, the others by what a sandbox can bear. A user can stop its own
 * workers with a signal, so one user never has all places.
 */
static const size_t class_max[job_classes] = {[QUICK] = 32, [STREAM] = 192, [WATCH] = 192};
static const size_t user_max[job_classes] = {[QUICK] = 8, [STREAM] = 128, [WATCH] = 128};
static size_t busy[job_classes];
static struct job *queue_head[job_classes], *queue_tail[job_classes];
static struct worker *workers;
static struct timer trim_timer;

static void on_worker(struct watch *watch, uint32_t events) {
  (void)events;
  struct worker *worker = container_of(watch, struct worker, watch);
  if (worker->job != NULL) return job_pump(worker->job);
  /* An idle worker has nothing to say: it is gone. */
  worker_release(worker, false);
}

/* It sees its socket close, and goes. */
static void unlink_worker(struct worker *worker) {
  struct worker **link = &workers;
  while (*link != worker) link = &(*link)->next;
  *link = worker->next;
  loop_unwatch(&worker->watch);
  timer_clear(&worker->deadline);
  input_close_shared(&worker->input);
  close(worker->watch.fd);
  if (worker->pid > 0) leaving_add(worker->pid);
  free(worker);
}

static void on_deadline(struct timer *timer) {
  struct worker *worker = container_of(timer, struct worker, deadline);
  struct job *job = worker->job;
  if (job == NULL) return;
  struct channel *ch = job->channel;
  worker_release(worker, false);
  job_free(job);
  if (ch != NULL) channel_fail(ch, CAISSON_ERROR_TIMED_OUT, ETIMEDOUT, "the worker for files did not answer");
}

/* Everything of the guest that a worker must not have: descriptors, secrets, the loop. */
__attribute__((noreturn)) static void become_worker(int fd, const struct account *account, const uint8_t *input) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGPIPE, SIG_IGN);
  dial_forget_secrets();
  loop_abandon();
  receive_reset();
  /* What the others are given to write is theirs. */
  for (struct worker *other = workers; other != NULL; other = other->next) input_close_shared(&other->input);
  if (dup2(fd, 3) < 0) _exit(1);
  descriptors_close_from(4);
  setpgid(0, 0);
  if (account_become(account) != 0) _exit(1);
  /* The user's other processes share its uid; they must not read or steer this one. */
  prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_NAME, "caisson-files");
  if (chdir(account->home) != 0) (void)!chdir("/");
  umask(022);
  serve(3, input);
}

static struct worker *start_worker(const struct account *account, int *error) {
  int ends[2];
  struct worker *worker = calloc(1, sizeof *worker);
  *error = ENOMEM;
  if (worker == NULL) return NULL;
  if (!input_open_shared(&worker->input) || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    *error = errno;
    input_close_shared(&worker->input);
    free(worker);
    return NULL;
  }
  worker->pid = fork();
  if (worker->pid == 0) become_worker(ends[1], account, worker->input.at);
  *error = errno;
  close(ends[1]);
  if (worker->pid < 0) {
    close(ends[0]);
    input_close_shared(&worker->input);
    free(worker);
    return NULL;
  }
  worker->account = *account;
  worker->watch = (struct watch){.fd = ends[0], .ready = on_worker};
  worker->next = workers;
  workers = worker;
  return worker;
}

static struct worker *idle_worker(const struct account *account) {
  for (struct worker *worker = workers; worker != NULL; worker = worker->next)
    if (worker->job == NULL && memcmp(&worker->account, account, sizeof *account) == 0) return worker;
  return NULL;
}

static void on_trim(struct timer *timer) {
  int64_t oldest = 0;
  for (struct worker *worker = workers, *next; worker != NULL; worker = next) {
    next = worker->next;
    if (worker->job != NULL) continue;
    if (loop_now() - worker->idle_since >= idle_ms) unlink_worker(worker);
    else if (oldest == 0 || worker->idle_since < oldest) oldest = worker->idle_since;
  }
  if (oldest != 0) timer_set(timer, oldest + idle_ms);
}

void workers_trim(void) {
  for (struct worker *worker = workers, *next; worker != NULL; worker = next) {
    next = worker->next;
    if (worker->job == NULL) unlink_worker(worker);
  }
}

static void rest(struct worker *worker) {
  size_t idle = 0;
  for (struct worker *other = workers; other != NULL; other = other->next) idle += other->job == NULL;
  if (idle > idle_max) return unlink_worker(worker);
  worker->idle_since = loop_now();
  loop_watch(&worker->watch, EPOLLIN);
  trim_timer.fire = on_trim;
  if (trim_timer.slot == 0) timer_set(&trim_timer, loop_now() + idle_ms);
}

void worker_release(struct worker *worker, bool at_rest) {
  struct job *job = worker->job;
  worker->job = NULL;
  timer_clear(&worker->deadline);
  if (job != NULL) {
    job->worker = NULL;
    busy[worker->class]--;
    input_over(&worker->input);
  }
  if (at_rest) {
    rest(worker);
  } else {
    /* One that takes input may have a temporary to remove: it sees its socket close. Any other has nothing to lose. */
    bool cleans = job != NULL && (job->method == CAISSON_METHOD_FILE_WRITE || job->method == CAISSON_METHOD_FILE_TAR_IN);
    if (!cleans && worker->pid > 0) kill(worker->pid, SIGKILL);
    unlink_worker(worker);
  }
}

/* Whether the class has a place, and the user one of them. */
static bool has_place(enum job_class class, uint32_t uid) {
  if (busy[class] >= class_max[class]) return false;
  size_t own = 0;
  for (const struct worker *worker = workers; worker != NULL; worker = worker->next)
    own += worker->job != NULL && worker->class == class && worker->account.uid == uid;
  return own < user_max[class];
}

bool worker_reclass(struct worker *worker, enum job_class class) {
  if (!has_place(class, worker->account.uid)) return false;
  busy[worker->class]--;
  busy[class]++;
  worker->class = worker->job->class = class;
  timer_clear(&worker->deadline);
  return true;
}

void worker_again(struct job *job, enum job_class class) {
  struct account *account = malloc(sizeof *account);
  if (account != NULL) *account = job->worker->account;
  worker_release(job->worker, false);
  if (account == NULL) return job_abandoned(job);
  job->account = account;
  job->class = class;
  job->begun = false;
  job->params_sent = 0;
  worker_assign(job);
}

static bool give(struct job *job) {
  int error = 0;
  struct worker *worker = idle_worker(job->account);
  if (worker == NULL) worker = start_worker(job->account, &error);
  if (worker == NULL) {
    struct channel *ch = job->channel;
    job_free(job);
    if (error == EAGAIN) channel_fail(ch, CAISSON_ERROR_LIMIT_REACHED, error, "the sandbox has reached its limit of processes");
    else channel_fail_errno(ch, error, "no worker for files could be started");
    return false;
  }
  /* It was only wanted to find the worker; a thousand requests that wait for their clients need not keep it. */
  free(job->account);
  job->account = NULL;
  busy[job->class]++;
  worker->class = job->class;
  worker->job = job;
  job->worker = worker;
  if (job->channel->method->input) input_begin(&worker->input);
  worker->deadline.fire = on_deadline;
  if (job->class == QUICK) timer_set(&worker->deadline, loop_now() + quick_ms);
  job_pump(job);
  return true;
}

void worker_assign(struct job *job) {
  if (queue_head[job->class] == NULL && has_place(job->class, job->account->uid)) {
    give(job);
    return;
  }
  job->next = NULL;
  if (queue_tail[job->class] != NULL) queue_tail[job->class]->next = job;
  else queue_head[job->class] = job;
  queue_tail[job->class] = job;
}

/* Called at the end of each turn: gives free places to those that wait. */
void workers_next(void) {
  for (int class = 0; class < job_classes; class++) {
    struct job *before = NULL;
    for (struct job *job = queue_head[class], *next; job != NULL; job = next) {
      next = job->next;
      bool is_cancelled = job->channel == NULL;
      if (!is_cancelled && busy[class] >= class_max[class]) break;
      if (!is_cancelled && !has_place(class, job->account->uid)) {
        /* Its user has enough of them; those behind it may be others'. */
        before = job;
        continue;
      }
      if (before == NULL) queue_head[class] = next;
      else before->next = next;
      if (next == NULL) queue_tail[class] = before;
      job->next = NULL;
      if (is_cancelled) job_free(job);
      else give(job);
    }
  }
}

static bool is_listed(const struct worker *worker) {
  const struct worker *other = workers;
  while (other != NULL && other != worker) other = other->next;
  return other != NULL;
}

bool worker_reaped(pid_t pid) {
  struct worker *worker = workers;
  while (worker != NULL && worker->pid != pid) worker = worker->next;
  if (worker == NULL) return leaving_reaped(pid);
  /* Its number may be another's from now on. */
  worker->pid = 0;
  /* What it said last is still in the socket, and behind it the end, which lets the job and the worker go. */
  if (worker->job != NULL) job_pump(worker->job);
  if (is_listed(worker) && worker->job == NULL) unlink_worker(worker);
  return true;
}
