/*
 * Diff mode: what differs between two trees, either of which somebody hostile may be at work in.
 *
 * With `--changes`, the two are mounts of overlays over the same layers, and what is named in neither of the folders of
 * changes is equal: so it costs what changed, and not what there is.
 *
 * Laws
 * - No path is resolved and no link followed; a mount within the trees is not entered. Only regular files are read.
 * - Parents come before what is in them, names in the order of their bytes. `--after` goes on behind a path, wherever that
 *   stands in this order and whether or not it is still there.
 * - In a path that is given, `%` and two digits stand for any byte.
 * - Times alone are no difference: whoever wants to know what changed does not mean them.
 *
 * Each record ends with a zero byte. One that differs:
 *   <kind before><kind after> <what> <size> <mode> <uid> <gid> <size> <mode> <uid> <gid> <path>
 * where a kind is one of `-fdlo` (nothing, file, folder, link, other), `what` is `c` for content, `a` for attributes, or
 * `-`, and modes are octal. The last one is `= <skipped>` when all was seen, or `> <skipped> <path>` with where to go on;
 * `skipped` counts what is too deep to be looked at.
 */
#ifndef CAISSON_DIFF_H
#define CAISSON_DIFF_H

#include <stdbool.h>
#include <sys/stat.h>

int diff_main(int argc, char **argv);

/* compare.c */
bool compare_prepare(void);
/* From now on whoever compares gives up when this many milliseconds have passed. */
void compare_deadline(long long milliseconds);
bool compare_is_late(void);
/* What the look found, opened; -1 and errno, EXDEV for a mount. */
int compare_open(int directory, const char *name, bool is_directory);
/* Whether neither the file nor anything of it can have changed: the same place on the disk, untouched since. */
bool compare_is_untouched(const struct stat *a, const struct stat *b);
/* Of open files. What cannot be read, or takes too long, is not equal. */
bool compare_content(int a, int b);
bool compare_attributes(int a, int b);
bool compare_links(int directory_a, int directory_b, const char *name);

#endif
