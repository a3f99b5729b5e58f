/*
 * Step mode: one program of an image build, where there is no network but loopback. It listens on loopback ports and carries
 * each connection to the socket of that port in FOLDER, which the builder put there, tells the program of it by the
 * variables in FOLDER/step/env, and ends as the program ends. It is PID 1 there: whatever the program left goes with it.
 */
#include "step.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../guest/log.h"
#include "carry.h"

enum {
  ports_max = 4,
  backlog = 128,
  /* Each is two small processes; installers open some dozens. */
  carriers_max = 256,
  line_bytes = 4096,
  /* As shells say it. */
  cannot_run = 126,
  not_found = 127,
  by_signal = 128,
  /* What no program that is meant to succeed or fail says by itself. */
  no_way = 125,
};

struct door {
  int fd;
  char path[sizeof((struct sockaddr_un *)0)->sun_path];
};

static struct door doors[ports_max];
static size_t door_count;

static bool open_door(const char *folder, const char *port_text) {
  char *end;
  long port = strtol(port_text, &end, 10);
  struct door *door = &doors[door_count];
  int size = snprintf(door->path, sizeof door->path, "%s/%ld.sock", folder, port);
  if (door_count == ports_max || *end != '\0' || port < 1 || port > 65535 || size >= (int)sizeof door->path) return false;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int on = 1;
  door->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (door->fd < 0) return false;
  setsockopt(door->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(door->fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(door->fd, backlog) != 0) return false;
  door_count++;
  return true;
}

static void read_variables(const char *folder) {
  char path[line_bytes], line[line_bytes];
  snprintf(path, sizeof path, "%s/step/env", folder);
  FILE *file = fopen(path, "re");
  if (file == NULL) return;
  while (fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    char *value = strchr(line, '=');
    if (value == NULL) continue;
    *value = '\0';
    setenv(line, value + 1, 1);
  }
  fclose(file);
}

static pid_t start(char **argv, const sigset_t *before) {
  pid_t child = fork();
  if (child != 0) return child;
  sigprocmask(SIG_SETMASK, before, NULL);
  execvp(argv[0], argv);
  log_line("%s: %s", argv[0], strerror(errno));
  _exit(errno == ENOENT ? not_found : cannot_run);
}

static void take(const struct door *door, int *carriers) {
  int client = accept4(door->fd, NULL, NULL, SOCK_CLOEXEC);
  if (client < 0) return;
  pid_t carrier = *carriers < carriers_max ? fork() : -1;
  if (carrier == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < door_count; i++) close(doors[i].fd);
    carry(client, door->path);
  }
  if (carrier > 0) (*carriers)++;
  close(client);
}

int step_main(int argc, char **argv) {
  int at = 1;
  for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
    if (open_door(argv[0], argv[at])) continue;
    log_line("no way out on port %s: %s", argv[at], strerror(errno));
    return no_way;
  }
  if (at + 1 >= argc) return 2;
  read_variables(argv[0]);
  sigset_t children, before;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigprocmask(SIG_BLOCK, &children, &before);
  struct pollfd polled[ports_max + 1] = {{.fd = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK), .events = POLLIN}};
  for (size_t i = 0; i < door_count; i++) polled[i + 1] = (struct pollfd){.fd = doors[i].fd, .events = POLLIN};
  pid_t program = polled[0].fd < 0 ? -1 : start(argv + at + 1, &before);
  if (program < 0) {
    log_line("the step cannot be started: %s", strerror(errno));
    return no_way;
  }
  for (int carriers = 0;;) {
    struct signalfd_siginfo told;
    if (poll(polled, door_count + 1, -1) < 0 && errno != EINTR) return no_way;
    while (read(polled[0].fd, &told, sizeof told) > 0) {}
    int status;
    for (pid_t gone; (gone = waitpid(-1, &status, WNOHANG)) > 0;) {
      if (gone == program) _exit(WIFEXITED(status) ? WEXITSTATUS(status) : by_signal + WTERMSIG(status));
      /* Orphans of the program come here too, and are none of ours. */
      if (carriers > 0) carriers--;
    }
    for (size_t i = 0; i < door_count; i++)
      if (polled[i + 1].revents & POLLIN) take(&doors[i], &carriers);
  }
}
