/*
 * reach HOW ADDRESS PORT…: tries to get past the proxy, and writes a line for each try: what it tried and what came of it,
 * the number of the error or `reached`.
 *   udp, tcp     one message, one connection
 *   hold         takes the port for itself as far as the kernel lets it, by every option there is, until it is ended
 *   flood COUNT  opens so many connections, says the beginning of a request on each, and holds them until it is ended
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static socklen_t address_of(const char *text, int port, struct sockaddr_storage *to) {
  memset(to, 0, sizeof *to);
  struct sockaddr_in *four = (struct sockaddr_in *)to;
  struct sockaddr_in6 *six = (struct sockaddr_in6 *)to;
  if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons((uint16_t)port);
    return sizeof *four;
  }
  if (inet_pton(AF_INET6, text, &six->sin6_addr) != 1) exit(2);
  six->sin6_family = AF_INET6;
  six->sin6_port = htons((uint16_t)port);
  return sizeof *six;
}

static int connected(int fd) {
  struct pollfd one = {.fd = fd, .events = POLLOUT};
  if (poll(&one, 1, 2000) != 1) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

static int attempt(const char *how, const char *address, int port) {
  struct sockaddr_storage to;
  socklen_t size = address_of(address, port, &to);
  int on = 1, is_udp = strcmp(how, "udp") == 0;
  int fd = socket(to.ss_family, (is_udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  if (strcmp(how, "hold") == 0) {
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    return bind(fd, (struct sockaddr *)&to, size) != 0 || listen(fd, 8) != 0 ? errno : 0;
  }
  if (is_udp) return sendto(fd, "secret", 6, 0, (struct sockaddr *)&to, size) < 0 ? errno : 0;
  if (connect(fd, (struct sockaddr *)&to, size) == 0) return 0;
  return errno == EINPROGRESS ? connected(fd) : errno;
}

static void flood(const char *address, int port, int count) {
  struct sockaddr_storage to;
  socklen_t size = address_of(address, port, &to);
  int open = 0;
  for (int i = 0; i < count; i++) {
    int fd = socket(to.ss_family, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, size) != 0) break;
    if (i % 2 == 0) (void)!write(fd, "GET http://", 11);
    open++;
  }
  printf("%d open\n", open);
  fflush(stdout);
  for (;;) pause();
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  if (strcmp(argv[1], "flood") == 0) flood(argv[3], atoi(argv[4]), atoi(argv[2]));
  for (int i = 2; i + 1 < argc; i += 2) {
    int error = attempt(argv[1], argv[i], atoi(argv[i + 1]));
    if (error == 0) printf("%s %s %s reached\n", argv[1], argv[i], argv[i + 1]);
    else printf("%s %s %s %d\n", argv[1], argv[i], argv[i + 1], error);
  }
  fflush(stdout);
  while (strcmp(argv[1], "hold") == 0) pause();
  return 0;
}
