/* The bar for exec: posix_spawn and wait of a program, in milliseconds, one line a run. bare-spawn RUNS PROGRAM */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  char *program[] = {argv[2], NULL};
  for (int runs = atoi(argv[1]); runs > 0; runs--) {
    pid_t pid;
    int status;
    double began = now_ms();
    if (posix_spawn(&pid, argv[2], NULL, NULL, program, environ) != 0) return 1;
    waitpid(pid, &status, 0);
    printf("%.4f\n", now_ms() - began);
  }
  return 0;
}
