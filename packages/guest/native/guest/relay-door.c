/* The guest's end of relays: who may be one, and what it brings. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "connection.h"
#include "relay.h"

/* What the other end fills while the guest is busy; as large as anybody may have without asking. */
enum { pipe_bytes = 256 * 1024 };

static struct timer rest;
static struct watch door = {.fd = -1};

/* A relay brings the server's stream. Whoever is at its end commands the guest, so it must have the guest's power. */
static void on_relay(struct watch *watch, uint32_t events) {
  (void)events;
  int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
    /* Without a descriptor for it the listener stays ready, and the loop would turn for ever. */
    loop_unwatch(watch);
    timer_set(&rest, loop_now() + CAISSON_LIMIT_REDIAL_MIN);
    return;
  }
  struct ucred peer;
  socklen_t size = sizeof peer;
  bool is_root = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == 0;
  if (!is_root || !connection_replace(fd)) close(fd);
}

static void on_rested(struct timer *timer) {
  (void)timer;
  loop_watch(&door, EPOLLIN);
}

bool relay_listen(const char *name) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(name);
  if (length + 1 > sizeof address.sun_path) return false;
  memcpy(address.sun_path + 1, name, length);
  door.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  door.ready = on_relay;
  rest.fire = on_rested;
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
  if (door.fd < 0 || bind(door.fd, (struct sockaddr *)&address, size) != 0) return false;
  return listen(door.fd, 4) == 0 && loop_watch(&door, EPOLLIN);
}

/*
 * The same pipe, opened again: whoever else has the descriptor that was brought could make it wait, and the guest with it.
 * -1 when it is no pipe, or not the guest's to open.
 */
static int open_again(int fd, int access) {
  char path[32];
  struct stat brought, own;
  if (fstat(fd, &brought) != 0 || !S_ISFIFO(brought.st_mode)) return -1;
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  int again = open(path, access | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (again < 0) return -1;
  bool same = fstat(again, &own) == 0 && own.st_dev == brought.st_dev && own.st_ino == brought.st_ino;
  if (same && S_ISFIFO(own.st_mode)) return again;
  close(again);
  return -1;
}

static void on_input(struct watch *watch, uint32_t events) {
  (void)watch, (void)events;
  receive_ready();
}

static void on_output(struct watch *watch, uint32_t events) {
  (void)watch;
  /* Nobody reads it any more. Room in it is used at the end of the turn. */
  if (events & EPOLLERR) connection.closing = true;
}

/* The relay says nothing more: it is gone. */
static void on_lifeline(struct watch *watch, uint32_t events) {
  (void)watch, (void)events;
  connection.closing = true;
}

void relay_pipes_close(void) {
  struct watch *const pipes[] = {&connection.pipe_in, &connection.pipe_out};
  for (int i = 0; i < 2; i++) {
    loop_unwatch(pipes[i]);
    if (pipes[i]->fd >= 0) close(pipes[i]->fd);
    pipes[i]->fd = -1;
  }
}

static bool take_pipes(const int brought[2]) {
  connection.pipe_in = (struct watch){.fd = open_again(brought[0], O_RDONLY), .ready = on_input, .urgent = true};
  connection.pipe_out = (struct watch){.fd = open_again(brought[1], O_WRONLY), .ready = on_output};
  bool both = connection.pipe_in.fd >= 0 && connection.pipe_out.fd >= 0;
  if (both && loop_watch(&connection.pipe_in, EPOLLIN) && loop_watch(&connection.pipe_out, 0)) {
    fcntl(connection.pipe_in.fd, F_SETPIPE_SZ, pipe_bytes);
    fcntl(connection.pipe_out.fd, F_SETPIPE_SZ, pipe_bytes);
    connection.watch.ready = on_lifeline;
    return true;
  }
  relay_pipes_close();
  return false;
}

void relay_greeted(void) {
  union {
    struct cmsghdr header;
    uint8_t space[CMSG_SPACE(2 * sizeof(int))];
  } control;
  char word = 0;
  int brought[2] = {-1, -1};
  struct iovec piece = {&word, 1};
  struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t n = recvmsg(connection.watch.fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  connection.greeting = false;
  struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&message);
  size_t size = c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS ? c->cmsg_len - CMSG_LEN(0) : 0;
  memcpy(brought, size == 0 ? (const void *)brought : CMSG_DATA(c), size < sizeof brought ? size : sizeof brought);
  if (n != 1 || word != relay_brings) {
    connection.closing = true;
  } else {
    bool taken = brought[1] >= 0 && take_pipes(brought);
    word = taken ? relay_taken : relay_carry;
    if (send(connection.watch.fd, &word, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1) connection.closing = true;
    else connection_hello();
  }
  for (int i = 0; i < 2; i++)
    if (brought[i] >= 0) close(brought[i]);
}
