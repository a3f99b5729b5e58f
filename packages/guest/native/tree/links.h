/* Files that have several names, each with the first name that it was met by. */
#ifndef CAISSON_LINKS_H
#define CAISSON_LINKS_H

#include <stdbool.h>
#include <sys/stat.h>

/* Once, before the others. It takes memory, which the other modes of the program must not have to. */
bool links_prepare(void);
/* The first name of this file, or NULL. */
const char *links_find(const struct stat *st);
/* False without memory. A file that has one name only needs no place. */
bool links_remember(const struct stat *st, const char *path);

#endif
