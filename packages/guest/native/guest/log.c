#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

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
