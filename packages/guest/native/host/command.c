/* Programs: started with their own three descriptors, waited for, their first output kept. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../guest/loop.h"
#include "../guest/process.h"
#include "host.h"

struct stream {
  struct watch watch;
  uint8_t *kept;
  size_t size;
};

struct command {
  uint32_t id;
  int pid;
  bool timed_out, answered;
  struct stream out[2];
  struct timer timer;
  struct command *next;
};

static struct command *commands;

bool commands_running(void) { return commands != NULL; }

static void stream_close(struct stream *s) {
  loop_unwatch(&s->watch);
  if (s->watch.fd >= 0) close(s->watch.fd);
  s->watch.fd = -1;
}

/* Reads all there is; what does not fit is read and dropped, so that the program never waits for us. */
static void stream_read(struct stream *s) {
  uint8_t spill[4096];
  for (;;) {
    if (s->kept == NULL) s->kept = malloc(CAISSON_HOST_OUTPUT_MAX);
    size_t room = s->kept == NULL ? 0 : CAISSON_HOST_OUTPUT_MAX - s->size;
    ssize_t n = read(s->watch.fd, room > 0 ? s->kept + s->size : spill, room > 0 ? room : sizeof spill);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) return stream_close(s);
    if (room > 0) s->size += (size_t)n;
  }
}

static void on_stream(struct watch *watch, uint32_t events) {
  (void)events;
  stream_read(container_of(watch, struct stream, watch));
}

static void on_timeout(struct timer *timer) {
  struct command *c = container_of(timer, struct command, timer);
  c->timed_out = true;
  kill(-c->pid, SIGKILL);
}

static void answer(struct command *c, bool ended, int status) {
  static uint8_t buffer[2 * CAISSON_HOST_OUTPUT_MAX + 256];
  struct writer w = writer_on(buffer, sizeof buffer);
  write_uint(&w, CAISSON_TAG_HOST_SPAWNED_PID, (uint64_t)c->pid);
  if (ended && WIFEXITED(status)) write_uint(&w, CAISSON_TAG_HOST_SPAWNED_CODE, (uint64_t)WEXITSTATUS(status));
  if (ended && WIFSIGNALED(status)) write_uint(&w, CAISSON_TAG_HOST_SPAWNED_SIGNAL, (uint64_t)WTERMSIG(status));
  write_bool(&w, CAISSON_TAG_HOST_SPAWNED_TIMED_OUT, c->timed_out);
  write_bytes(&w, CAISSON_TAG_HOST_SPAWNED_STDOUT, c->out[0].kept, c->out[0].size);
  write_bytes(&w, CAISSON_TAG_HOST_SPAWNED_STDERR, c->out[1].kept, c->out[1].size);
  c->answered = true;
  host_answer(c->id, &w);
}

bool command_reaped(int pid, int status) {
  struct command **link = &commands;
  while (*link != NULL && (*link)->pid != pid) link = &(*link)->next;
  struct command *c = *link;
  if (c == NULL) return false;
  *link = c->next;
  for (int i = 0; i < 2; i++) {
    if (c->out[i].watch.fd >= 0) stream_read(&c->out[i]);
    stream_close(&c->out[i]);
  }
  timer_clear(&c->timer);
  if (!c->answered) answer(c, true, status);
  free(c->out[0].kept);
  free(c->out[1].kept);
  free(c);
  return true;
}

void command_cancel(uint32_t id) {
  for (struct command *c = commands; c != NULL; c = c->next)
    if (c->id == id) kill(-c->pid, SIGKILL);
}

static char **list_of(struct slice params, uint16_t tag) {
  size_t cursor = 0, count = 0, bytes = 0;
  struct slice item;
  while (message_next(params, tag, &cursor, &item)) {
    count++;
    bytes += item.size + 1;
  }
  char **list = malloc((count + 1) * sizeof *list + bytes);
  if (list == NULL) return NULL;
  char *text = (char *)(list + count + 1);
  cursor = count = 0;
  while (message_next(params, tag, &cursor, &item)) {
    list[count++] = text;
    memcpy(text, item.at, item.size);
    text[item.size] = 0;
    text += item.size + 1;
  }
  list[count] = NULL;
  return list;
}

/* A file to append to, or the writing end of a pipe whose reading end goes to *ours. -1 and errno. */
static int output_end(struct slice params, uint16_t tag, int *ours) {
  *ours = -1;
  if (message_has(params, tag)) {
    char path[4096];
    host_path(params, tag, path);
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return -1;
  fcntl(fds[0], F_SETFL, O_NONBLOCK);
  *ours = fds[0];
  return fds[1];
}

/*
 * Stdin fits a pipe (64 KiB), so writing all of it before the program starts cannot block. Never /dev/null: a runtime gives
 * its stdin to the root of the sandbox, and that one belongs to the whole machine.
 */
static int input_end(struct slice params) {
  struct slice given = message_bytes(params, CAISSON_TAG_HOST_SPAWN_STDIN);
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return -1;
  fcntl(fds[1], F_SETFL, O_NONBLOCK);
  ssize_t n = given.size == 0 ? 0 : write(fds[1], given.at, given.size);
  close(fds[1]);
  if (n == (ssize_t)given.size) return fds[0];
  close(fds[0]);
  errno = EMSGSIZE;
  return -1;
}

__attribute__((noreturn)) static void run(char **argv, char **env, const char *cwd, const int fds[3], int error_fd) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGPIPE, SIG_DFL);
  /* What it makes for others to use must not depend on how careful the server is with its own files. */
  umask(022);
  setsid();
  int moved[3], error = 0;
  for (int i = 0; i < 3; i++) moved[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
  for (int i = 0; i < 3; i++)
    if (dup2(moved[i], i) < 0) error = errno;
  if (error == 0 && cwd[0] != 0 && chdir(cwd) != 0) error = errno;
  /* Everything else is close-on-exec: opened here, or closed at the start. */
  if (error == 0) {
    execve(argv[0], argv, env);
    error = errno;
  }
  (void)!write(error_fd, &error, sizeof error);
  _exit(127);
}

/* 0, or an errno: also the child's, which is waited for here because exec takes well below a millisecond. */
static int start(struct command *c, struct slice params) {
  char **argv = list_of(params, CAISSON_TAG_HOST_SPAWN_ARGV), **env = list_of(params, CAISSON_TAG_HOST_SPAWN_ENV);
  char cwd[4096];
  host_path(params, CAISSON_TAG_HOST_SPAWN_CWD, cwd);
  int errors[2] = {-1, -1}, fds[3], ours[2], error = argv == NULL || env == NULL ? ENOMEM : 0;
  fds[0] = input_end(params);
  if (fds[0] < 0 && error == 0) error = errno;
  fds[1] = output_end(params, CAISSON_TAG_HOST_SPAWN_STDOUT_PATH, &ours[0]);
  if (fds[1] < 0 && error == 0) error = errno;
  fds[2] = output_end(params, CAISSON_TAG_HOST_SPAWN_STDERR_PATH, &ours[1]);
  if (fds[2] < 0 && error == 0) error = errno;
  if (error == 0 && pipe2(errors, O_CLOEXEC) != 0) error = errno;
  if (error == 0 && (c->pid = fork()) == 0) run(argv, env, cwd, fds, errors[1]);
  if (error == 0 && c->pid < 0) error = errno;
  free(argv);
  free(env);
  for (int i = 0; i < 3; i++)
    if (fds[i] >= 0) close(fds[i]);
  if (errors[1] >= 0) close(errors[1]);
  if (error == 0 && read(errors[0], &error, sizeof error) != (ssize_t)sizeof error) error = 0;
  if (errors[0] >= 0) close(errors[0]);
  for (int i = 0; i < 2; i++) {
    c->out[i].watch = (struct watch){.fd = ours[i], .ready = on_stream};
    if (error == 0 && ours[i] >= 0) loop_watch(&c->out[i].watch, EPOLLIN);
  }
  return error;
}

void command_begin(uint32_t id, struct slice params) {
  if (!message_has(params, CAISSON_TAG_HOST_SPAWN_ARGV)) return host_fail(id, EINVAL, "argv is empty");
  struct command *c = calloc(1, sizeof *c);
  if (c == NULL) return host_fail(id, ENOMEM, "no memory");
  c->id = id;
  int error = start(c, params);
  if (error != 0) {
    for (int i = 0; i < 2; i++)
      if (c->out[i].watch.fd >= 0) close(c->out[i].watch.fd);
    free(c);
    return host_fail(id, error, "the program could not be started");
  }
  c->next = commands;
  commands = c;
  c->timer.fire = on_timeout;
  uint64_t timeout = message_uint(params, CAISSON_TAG_HOST_SPAWN_TIMEOUT_MS, 0);
  if (timeout > 0) timer_set(&c->timer, loop_now() + (int64_t)timeout);
  if (!message_bool(params, CAISSON_TAG_HOST_SPAWN_WAIT)) answer(c, false, 0);
}
