#include "log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static int null_fd = -1;

void log_prepare(void) { null_fd = open("/dev/null", O_RDWR | O_CLOEXEC | O_NONBLOCK); }

void log_silence(void) {
#ifndef CAISSON_KEEP_STDERR /* sanitizers speak there */
  if (null_fd < 0) return;
  dup2(null_fd, STDOUT_FILENO);
  dup2(null_fd, STDERR_FILENO);
  close(null_fd);
  null_fd = -1;
#endif
}

void log_line(const char *format, ...) {
  char line[512];
  int size = snprintf(line, sizeof line, "caisson-guest: ");
  va_list arguments;
  va_start(arguments, format);
  size += vsnprintf(line + size, sizeof line - (size_t)size - 1, format, arguments);
  va_end(arguments);
  if (size > (int)sizeof line - 2) size = (int)sizeof line - 2;
  line[size] = '\n';
  (void)!write(STDERR_FILENO, line, (size_t)size + 1);
}
