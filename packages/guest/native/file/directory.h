/* Directories by path: opened, and made where they are missing. */
#ifndef CAISSON_DIRECTORY_H
#define CAISSON_DIRECTORY_H

#include <stdbool.h>
#include <sys/types.h>

/* The directory that holds the last component, which stays in *name. -1 and errno. The path is changed. */
int open_parent(char *path, const char **name);
/* Makes every missing directory of the path, itself included. *created: it was not there. 0 or an errno. */
int make_directories(const char *path, mode_t mode, bool *created);

#endif
