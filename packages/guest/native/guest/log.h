/* Lines for people on stderr, which is the console of the sandbox. Never a secret, never more than a line. */
#ifndef CAISSON_LOG_H
#define CAISSON_LOG_H

/* Opens what silence needs, while nobody else can have touched /dev. */
void log_prepare(void);
/*
 * The first words are for whoever started the guest. Once a server has it, they end: their file is the host's, and root
 * inside could fill it through /proc/1/fd.
 */
void log_silence(void);
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
