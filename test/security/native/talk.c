/*
 * talk SOCKET COUNT: opens COUNT connections to a unix socket; one whose name begins with @ has no file. The first says what comes on stdin and what it is answered
 * goes to stdout, until it is closed. With COUNT above one nothing is said: they stay open, and whichever is closed is
 * opened again, for ever.
 */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { most = 256 };

static int dial(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  socklen_t size = sizeof address;
  if (path[0] == '@') {
    address.sun_path[0] = 0;
    size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
  }
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd >= 0 && connect(fd, (struct sockaddr *)&address, size) == 0) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

static int speak(const char *path) {
  char buffer[65536];
  int fd = dial(path);
  if (fd < 0) {
    fprintf(stderr, "%s\n", strerror(errno));
    return 1;
  }
  ssize_t n = read(0, buffer, sizeof buffer);
  if (n > 0 && write(fd, buffer, (size_t)n) != n) return 1;
  while ((n = read(fd, buffer, sizeof buffer)) > 0) (void)!write(1, buffer, (size_t)n);
  return 0;
}

int main(int argc, char **argv) {
  int count = argc == 3 ? atoi(argv[2]) : 0;
  if (count < 1 || count > most) return 2;
  if (count == 1) return speak(argv[1]);
  struct pollfd held[most];
  for (int i = 0; i < count; i++) held[i] = (struct pollfd){.fd = -1, .events = POLLIN};
  for (;;) {
    for (int i = 0; i < count; i++) {
      if (held[i].fd >= 0 && held[i].revents == 0) continue;
      close(held[i].fd);
      held[i].fd = dial(argv[1]);
      held[i].revents = 0;
    }
    poll(held, (nfds_t)count, 50);
  }
}
