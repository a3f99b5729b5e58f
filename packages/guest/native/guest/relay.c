/*
 * Relay mode: joins stdin and stdout to the abstract socket of the guest, for servers that reach a sandbox only through
 * an exec stream. It knows nothing of the protocol. It ends when either side does.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"
#include "log.h"

enum { buffer_bytes = 64 * 1024 };

/* All of it, waiting as long as the other end does; 0 when that is gone. */
static int put_all(int fd, const char *at, size_t size) {
  while (size > 0) {
    ssize_t n = write(fd, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return 0;
    at += n;
    size -= (size_t)n;
  }
  return 1;
}

/* Each direction is a process of its own, so that neither can block the other. */
static void pump(int from, int to) {
  static char buffer[buffer_bytes];
  ssize_t n;
  while ((n = read(from, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR))
    if (n > 0 && !put_all(to, buffer, (size_t)n)) break;
}

int relay_main(int argc, char **argv) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (argc != 2 || strcmp(argv[0], "--relay") != 0 || strlen(argv[1]) + 1 > sizeof address.sun_path) return 2;
  size_t length = strlen(argv[1]);
  memcpy(address.sun_path + 1, argv[1], length);
  int guest = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
  if (guest < 0 || connect(guest, (struct sockaddr *)&address, size) != 0) {
    log_line("no guest listens as %s: %s", argv[1], strerror(errno));
    return 1;
  }
  pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) {
    /* It waits for stdin, which may never come: it must not outlive the relay. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pump(STDIN_FILENO, guest);
    shutdown(guest, SHUT_RDWR);
    _exit(0);
  }
  pump(guest, STDOUT_FILENO);
  shutdown(guest, SHUT_RDWR);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  return 0;
}
