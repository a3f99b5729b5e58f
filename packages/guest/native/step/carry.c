#include "carry.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../guest/log.h"

enum { buffer_bytes = 64 * 1024 };

/* Until `from` ends; 0 when `to` takes no more. */
static int pump(int from, int to) {
  static char buffer[buffer_bytes];
  for (;;) {
    ssize_t n = read(from, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return 1;
    for (ssize_t at = 0; at < n;) {
      ssize_t put = write(to, buffer + at, (size_t)(n - at));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return 0;
      at += put;
    }
  }
}

static void end_both(int a, int b) {
  shutdown(a, SHUT_RDWR);
  shutdown(b, SHUT_RDWR);
}

_Noreturn void carry(int client, const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strcpy(address.sun_path, path);
  int way = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (way < 0 || connect(way, (struct sockaddr *)&address, sizeof address) != 0) {
    log_line("the way out cannot be reached: %s", strerror(errno));
    _exit(1);
  }
  signal(SIGPIPE, SIG_IGN);
  /* Each direction is a process of its own, so that neither can block the other. */
  pid_t child = fork();
  if (child < 0) _exit(1);
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (pump(client, way)) shutdown(way, SHUT_WR);
    else end_both(client, way);
    _exit(0);
  }
  if (pump(way, client)) shutdown(client, SHUT_WR);
  else end_both(client, way);
  waitpid(child, NULL, 0);
  _exit(0);
}
