#ifndef CAISSON_PTY_H
#define CAISSON_PTY_H

#include <stdbool.h>
#include <stdint.h>

/* A terminal that belongs to uid: the guest's end, which does not block, and the program's. errno on failure. */
bool pty_open(uint16_t rows, uint16_t columns, uint32_t uid, int *master, int *terminal);
/* Whether it gives its program whole lines, and knows an end of file. */
bool pty_by_line(int master);
bool pty_resize(int master, uint16_t rows, uint16_t columns);

#endif
