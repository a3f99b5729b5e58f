/* Operations that may take long, each in a child of its own; what it found comes back in one small packet. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host.h"

struct task {
  int pid, fd;
  uint32_t id;
  uint16_t operation;
};

static struct task tasks[CAISSON_HOST_TASKS_MAX];
static size_t count;

void step_failed(struct outcome *outcome, const char *step) {
  outcome->error = errno;
  strncpy(outcome->step, step, sizeof outcome->step - 1);
}

void host_path(struct slice params, uint16_t tag, char *path) {
  struct slice given = message_bytes(params, tag);
  if (given.size > 0) memcpy(path, given.at, given.size);
  path[given.size] = 0;
}

void task_begin(uint32_t id, uint16_t operation, host_task task, struct slice params) {
  int fds[2];
  if (count == CAISSON_HOST_TASKS_MAX) return host_fail(id, EAGAIN, "too many operations at once");
  if (pipe2(fds, O_CLOEXEC) != 0) return host_fail(id, errno, "pipe");
  int pid = fork();
  if (pid == 0) {
    struct outcome outcome = {0};
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    task(params, &outcome);
    (void)!write(fds[1], &outcome, sizeof outcome);
    _exit(0);
  }
  int error = errno;
  close(fds[1]);
  if (pid < 0) {
    close(fds[0]);
    return host_fail(id, error, "fork");
  }
  tasks[count++] = (struct task){pid, fds[0], id, operation};
}

static void answer(const struct task *task, const struct outcome *outcome) {
  if (outcome->error != 0) return host_fail(task->id, outcome->error, outcome->step);
  if (task->operation != CAISSON_HOST_OP_USAGE) return host_answer(task->id, NULL);
  uint8_t buffer[64];
  struct writer w = writer_on(buffer, sizeof buffer);
  write_uint(&w, CAISSON_TAG_HOST_USAGE_BYTES, outcome->values[0]);
  if (outcome->has[1]) write_uint(&w, CAISSON_TAG_HOST_USAGE_LIMIT, outcome->values[1]);
  host_answer(task->id, &w);
}

bool task_reaped(int pid) {
  for (size_t i = 0; i < count; i++) {
    if (tasks[i].pid != pid) continue;
    struct outcome outcome = {0};
    if (read(tasks[i].fd, &outcome, sizeof outcome) != (ssize_t)sizeof outcome) {
      errno = EIO;
      step_failed(&outcome, "the operation ended early");
    }
    close(tasks[i].fd);
    struct task task = tasks[i];
    tasks[i] = tasks[--count];
    answer(&task, &outcome);
    return true;
  }
  return false;
}
