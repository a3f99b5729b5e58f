#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../guest/loop.h"
#include "../wire/bytes.h"

enum { header_bytes = 12, output_max = 64 * 1024 * 1024 };

static const struct {
  uint16_t number;
  const struct caisson_message *params;
  host_task task;
} operations[] = {
  {CAISSON_HOST_OP_SPAWN, &caisson_message_host_spawn, NULL},
  {CAISSON_HOST_OP_CANCEL, &caisson_message_host_cancel, NULL},
  {CAISSON_HOST_OP_PING, &caisson_message_host_done, NULL},
  {CAISSON_HOST_OP_MOUNT, &caisson_message_host_mount, task_mount},
  {CAISSON_HOST_OP_UNMOUNT, &caisson_message_host_unmount, task_unmount},
  {CAISSON_HOST_OP_MOUNT_IDMAPPED, &caisson_message_host_mount_idmapped, task_mount_idmapped},
  {CAISSON_HOST_OP_SYNC, &caisson_message_host_path, task_sync},
  {CAISSON_HOST_OP_SUBVOLUME_CREATE, &caisson_message_host_path, task_subvolume_create},
  {CAISSON_HOST_OP_SUBVOLUME_DELETE, &caisson_message_host_path, task_subvolume_delete},
  {CAISSON_HOST_OP_SNAPSHOT, &caisson_message_host_snapshot, task_snapshot},
  {CAISSON_HOST_OP_QUOTA_ENABLE, &caisson_message_host_path, task_quota_enable},
  {CAISSON_HOST_OP_QUOTA_LIMIT, &caisson_message_host_quota_limit, task_quota_limit},
  {CAISSON_HOST_OP_MOUNT_OVERLAY, &caisson_message_host_mount_overlay, task_mount_overlay},
  {CAISSON_HOST_OP_MOUNT_DISK, &caisson_message_host_mount_disk, task_mount_disk},
  {CAISSON_HOST_OP_USAGE, &caisson_message_host_path, task_usage},
};

static struct watch input, output, signals;
static uint8_t *received;
static size_t filled;
static uint8_t *answers;
static size_t answers_size, answers_capacity;
static bool server_gone;

static void queue(uint32_t id, uint16_t status, const uint8_t *payload, size_t size) {
  size_t wanted = answers_size + header_bytes + size;
  if (wanted > output_max) _exit(1); /* the server does not read any more */
  if (wanted > answers_capacity) {
    size_t capacity = answers_capacity == 0 ? 64 * 1024 : answers_capacity;
    while (capacity < wanted) capacity *= 2;
    uint8_t *grown = realloc(answers, capacity);
    if (grown == NULL) _exit(1);
    answers = grown;
    answers_capacity = capacity;
  }
  uint8_t *at = answers + answers_size;
  store32(at, (uint32_t)size);
  store32(at + 4, id);
  store16(at + 8, status);
  store16(at + 10, 0);
  if (size > 0) memcpy(at + header_bytes, payload, size);
  answers_size = wanted;
}

void host_answer(uint32_t id, const struct writer *result) {
  queue(id, 0, result == NULL ? NULL : result->at, result == NULL ? 0 : result->size);
}

void host_fail(uint32_t id, int error, const char *step) {
  uint8_t buffer[512];
  struct writer w = writer_on(buffer, sizeof buffer);
  write_uint(&w, CAISSON_TAG_HOST_FAILED_ERRNO, error < 0 ? EIO : (uint64_t)error);
  write_text_cut(&w, CAISSON_TAG_HOST_FAILED_STEP, step, 256);
  queue(id, 1, w.at, w.size);
}

static void flush(void) {
  while (answers_size > 0) {
    ssize_t n = write(STDOUT_FILENO, answers, answers_size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) server_gone = true;
    if (n < 0) break;
    answers_size -= (size_t)n;
    memmove(answers, answers + n, answers_size);
  }
  if (server_gone) answers_size = 0;
  if (answers_size > 0) loop_watch(&output, EPOLLOUT);
  else loop_unwatch(&output);
  if (server_gone && !commands_running()) _exit(0);
}

static void perform(uint32_t id, uint16_t number, struct slice params) {
  size_t i = 0, count = sizeof operations / sizeof *operations;
  while (i < count && operations[i].number != number) i++;
  if (i == count) return host_fail(id, ENOSYS, "no such operation");
  if (message_check(operations[i].params, params.at, params.size) != 0) return host_fail(id, EINVAL, "the parameters");
  if (number == CAISSON_HOST_OP_SPAWN) return command_begin(id, params);
  if (number == CAISSON_HOST_OP_CANCEL) command_cancel((uint32_t)message_uint(params, CAISSON_TAG_HOST_CANCEL_ID, 0));
  if (operations[i].task == NULL) return host_answer(id, NULL);
  task_begin(id, number, operations[i].task, params);
}

static void on_input(struct watch *watch, uint32_t events) {
  (void)events;
  size_t capacity = CAISSON_HOST_REQUEST_MAX + header_bytes;
  ssize_t n = read(watch->fd, received + filled, capacity - filled);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    loop_unwatch(watch);
    server_gone = true;
    return;
  }
  filled += (size_t)n;
  size_t used = 0;
  while (filled - used >= header_bytes) {
    uint8_t *at = received + used;
    uint32_t size = load32(at);
    if (size > CAISSON_HOST_REQUEST_MAX) _exit(1); /* a server that lost its place cannot be served */
    if (filled - used - header_bytes < size) break;
    perform(load32(at + 4), load16(at + 8), (struct slice){at + header_bytes, size});
    used += header_bytes + size;
  }
  filled -= used;
  memmove(received, received + used, filled);
}

static void on_output(struct watch *watch, uint32_t events) {
  (void)watch;
  (void)events;
}

static void on_signal(struct watch *watch, uint32_t events) {
  struct signalfd_siginfo info[8];
  int status, pid;
  (void)events;
  (void)!read(watch->fd, info, sizeof info);
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
    if (!task_reaped(pid)) command_reaped(pid, status);
}

/*
 * One program at a time for what the lock guards: what a server that was killed had begun ends first. The lock goes with
 * the last child that does an operation; the programs that are run do not have it.
 */
static bool take_lock(const char *path) {
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return false;
  int result;
  do result = flock(fd, LOCK_EX);
  while (result != 0 && errno == EINTR);
  return result == 0;
}

int host_main(int argc, char **argv) {
  if (argc != 0 && (argc != 2 || strcmp(argv[0], "--lock") != 0)) return 2;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_BLOCK, &set, NULL);
  signal(SIGPIPE, SIG_IGN);
  /* What the server had open when it started this is nobody's here. */
  if (syscall(SYS_close_range, 3, ~0u, 0) != 0)
    for (int fd = 3; fd < 4096; fd++) close(fd);
  if (argc == 2 && !take_lock(argv[1])) return 1;
  received = malloc(CAISSON_HOST_REQUEST_MAX + header_bytes);
  if (received == NULL || !loop_open()) return 1;
  fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
  fcntl(STDOUT_FILENO, F_SETFL, fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
  input = (struct watch){.fd = STDIN_FILENO, .ready = on_input};
  output = (struct watch){.fd = STDOUT_FILENO, .ready = on_output};
  signals = (struct watch){.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), .ready = on_signal};
  if (signals.fd < 0 || !loop_watch(&input, EPOLLIN) || !loop_watch(&signals, EPOLLIN)) return 1;
  loop_run(flush);
  return 0;
}
