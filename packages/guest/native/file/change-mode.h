/* The mode of a node, never of what a link at its place points to. */
#ifndef CAISSON_CHANGE_MODE_H
#define CAISSON_CHANGE_MODE_H

#include <sys/types.h>

/* 0, or -1 with errno; ELOOP where a link stands. */
int change_mode(int directory, const char *name, mode_t mode);

#endif
