/* Lines for people on stderr, which is the console of the sandbox. Never a secret, never more than a line. */
#ifndef CAISSON_LOG_H
#define CAISSON_LOG_H

void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
