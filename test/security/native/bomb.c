/*
 * bomb KIND: uses up one thing, and says what stopped it.
 *   processes  forks for ever, each child too
 *   memory     touches memory for ever
 *   files      opens for ever        inodes DIR   makes files for ever
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int stopped(const char *what, long count) {
  printf("%s after %ld: %s\n", what, count, strerror(errno));
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  long count = 0;
  if (strcmp(argv[1], "processes") == 0)
    for (;;)
      if (fork() < 0) usleep(1000);
  if (strcmp(argv[1], "memory") == 0)
    for (;; count++) {
      char *piece = malloc(1 << 20);
      if (piece == NULL) return stopped("memory", count);
      memset(piece, 1, 1 << 20);
    }
  if (strcmp(argv[1], "files") == 0)
    for (;; count++)
      if (open("/dev/zero", O_RDONLY) < 0) return stopped("files", count);
  if (strcmp(argv[1], "inodes") == 0 && argc == 3 && chdir(argv[2]) == 0)
    for (;; count++) {
      char name[32];
      snprintf(name, sizeof name, "%ld", count);
      int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0644);
      if (fd < 0) return stopped("inodes", count);
      close(fd);
    }
  return 2;
}
