/*
 * Stdin of a command that is given none: /dev/null, as everywhere else. Programs look at what their stdin is: one that finds
 * a pipe there reads it and not the files that it was started for.
 */
#ifndef CAISSON_NOTHING_H
#define CAISSON_NOTHING_H

#include <stdbool.h>

/* Before any program runs inside: later /dev/null is what root inside made of it, and could hold the guest. */
void nothing_open(void);
/* A descriptor of its own for a child. False and errno. */
bool nothing_to_read(int *fd);

#endif
