/*
 * Copy mode: a tree as it is, while somebody hostile may be at work in it.
 *
 * Laws
 * - No path is ever resolved in the source: every name is opened in its own directory, and a link is never followed. What
 *   was a directory a moment ago and is a link now leads nowhere.
 * - Only as much of a file is copied as it had when it was opened; holes stay holes.
 * - What vanishes on the way is left out; what keeps changing its kind is an error.
 */
#ifndef CAISSON_COPY_H
#define CAISSON_COPY_H

#include <stdbool.h>
#include <sys/stat.h>

int copy_main(int argc, char **argv);

/* content.c: 0, or -1 and errno. Prepared once, which takes memory. */
bool copy_prepare(void);
int copy_content(int from, int to, off_t size);
int copy_attributes_of_file(int from, int to);
int copy_attributes_of_name(int from_directory, int to_directory, const char *name);

#endif
