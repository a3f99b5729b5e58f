/*
 * Relay mode: joins stdin and stdout to the guest, for servers that reach a sandbox only through an exec stream. It hands
 * both over where the guest can take them, and carries the bytes where it cannot. It knows nothing of the protocol. It
 * ends when either side does.
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
#include "relay.h"

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

/* Offers stdin and stdout; gives what the guest answers, or 0 when it is gone. */
static char offer(int guest) {
  const int ours[2] = {STDIN_FILENO, STDOUT_FILENO};
  union {
    struct cmsghdr align;
    char space[CMSG_SPACE(sizeof ours)];
  } control = {0};
  char word = relay_brings;
  struct iovec piece = {&word, 1};
  struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  struct cmsghdr *c = CMSG_FIRSTHDR(&message);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof ours);
  memcpy(CMSG_DATA(c), ours, sizeof ours);
  ssize_t n = sendmsg(guest, &message, MSG_NOSIGNAL);
  if (n != 1) return 0;
  do n = read(guest, &word, 1);
  while (n < 0 && errno == EINTR);
  return n == 1 ? word : 0;
}

/* Until the guest lets go. */
static void wait_for_end(int guest) {
  char byte;
  ssize_t n;
  while ((n = read(guest, &byte, 1)) > 0 || (n < 0 && errno == EINTR)) continue;
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
  char answer = offer(guest);
  if (answer == relay_taken) {
    wait_for_end(guest);
    return 0;
  }
  pid_t child = answer == relay_carry ? fork() : -1;
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
