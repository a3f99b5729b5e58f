/* Guest mode: PID 1 of a sandbox. */
#include "guest.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "account.h"
#include "connection.h"
#include "descriptors.h"
#include "job.h"
#include "launch.h"
#include "log.h"
#include "nothing.h"
#include "oom.h"
#include "process.h"
#include "sys.h"

enum { trim_after_ms = 1000, stop_grace_ms = 5000 };

static struct watch signals;
static struct timer trim_timer;
static int64_t active_at;
static bool trimming;

static void on_signal(struct watch *watch, uint32_t events) {
  struct signalfd_siginfo info[8];
  (void)events;
  ssize_t size = read(watch->fd, info, sizeof info);
  bool stop = false;
  for (ssize_t i = 0; i < size / (ssize_t)sizeof *info; i++) stop |= info[i].ssi_signo != SIGCHLD;
  if (stop) shutdown_now(stop_grace_ms);
  /* Many children may stand behind one signal. */
  reap_children();
}

static bool watch_signals(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  if (sigprocmask(SIG_BLOCK, &set, NULL) != 0) return false;
  signal(SIGPIPE, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  signals = (struct watch){.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), .ready = on_signal, .urgent = true};
  return signals.fd >= 0 && loop_watch(&signals, EPOLLIN);
}

/*
 * The program's own text: what an idle guest needs of it comes back by itself from the page cache, which all guests share,
 * and what only its beginning or a busy moment needed does not.
 */
static void text_trim(void) {
  extern const char __executable_start[], etext[];
  enum { page = 4096 };
  uintptr_t from = ((uintptr_t)__executable_start + page - 1) & ~(uintptr_t)(page - 1);
  uintptr_t to = (uintptr_t)etext & ~(uintptr_t)(page - 1);
  /* With larger pages it is refused, and nothing is lost. */
  if (to > from) madvise((void *)from, to - from, MADV_DONTNEED);
}

/* Buffers that were large once are given back when it is quiet: most sandboxes idle most of the time. */
static void on_trim(struct timer *timer) {
  trimming = true;
  if (loop_now() - active_at < trim_after_ms) {
    timer_set(timer, active_at + trim_after_ms);
    return;
  }
  transmit_trim();
  receive_trim();
  reader_trim();
  launch_trim();
  process_trim();
  text_trim();
}

static void after_turn(void) {
  spawn_turn_over();
  workers_next();
  transmit_flush();
  if (trimming) {
    trimming = false; /* this turn was the timer's own, or an idle guest would wake itself for ever */
    return;
  }
  active_at = loop_now();
  if (trim_timer.slot == 0) timer_set(&trim_timer, active_at + trim_after_ms);
}

static void fill_standard_descriptors(void) {
  int fd;
  do fd = open("/dev/null", O_RDWR);
  while (fd >= 0 && fd < 3);
  if (fd >= 3) close(fd);
}

/* Whatever the runtime left open is for no program inside. */
static void close_others_on_exec(void) {
  enum { close_range_cloexec = 4 };
  if (syscall(SYS_close_range, 3, ~0u, close_range_cloexec) == 0) return;
  for (int fd = 3; fd < 1024; fd++) fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static bool number(const char *text, unsigned long most, unsigned long *out) {
  char *end;
  *out = strtoul(text, &end, 10);
  return *text >= '0' && *text <= '9' && *end == 0 && *out <= most;
}

static bool parse(int argc, char **argv, struct dial_options *options, bool *create_user) {
  for (int i = 0; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    unsigned long n = 0;
    if (strcmp(argv[i], "--create-user") == 0) {
      *create_user = true;
      continue;
    }
    if (value == NULL) return false;
    i++;
    if (strcmp(argv[i - 1], "--socket") == 0) options->socket_path = value;
    else if (strcmp(argv[i - 1], "--sandbox") == 0) options->sandbox_id = value;
    else if (strcmp(argv[i - 1], "--directory") == 0) launch_directory = value;
    else if (strcmp(argv[i - 1], "--relay") == 0) options->relay_name = value;
    else if (strcmp(argv[i - 1], "--incarnation") == 0 && number(value, 2147483648ul, &n)) options->incarnation = (uint32_t)n;
    else if (strcmp(argv[i - 1], "--secret-fd") == 0 && number(value, 65535, &n)) options->secret_fd = (int)n;
    else return false;
  }
  bool reachable = options->socket_path != NULL || options->relay_name != NULL;
  return reachable && options->sandbox_id != NULL && strlen(options->sandbox_id) <= 32 && options->sandbox_id[0] != 0;
}

int guest_main(int argc, char **argv) {
  struct dial_options options = {.secret_fd = -1};
  bool create_user = false;
  if (!parse(argc, argv, &options, &create_user)) return 2;
  fill_standard_descriptors();
  log_prepare();
  close_others_on_exec();
  descriptors_raise();
  /* The programs inside must not read the guest's memory, whatever uid they have gained; and orphans come to it. */
  prctl(PR_SET_DUMPABLE, 0);
  if (getpid() != 1) prctl(PR_SET_CHILD_SUBREAPER, 1);
  umask(022);
  if (create_user) account_create_user();
  if (!loop_open() || !watch_signals()) {
    log_line("cannot set up the event loop");
    return 1;
  }
  nothing_open();
  oom_open();
  sys_started();
  trim_timer.fire = on_trim;
  if (!dial_begin(&options)) {
    log_line("cannot begin: the secret, the socket path or the relay name is not usable");
    return 1;
  }
  transmit_flush();
  loop_run(after_turn);
  return 0;
}
