/* A file beside its target that becomes it by a rename, or goes without a trace. One at a time: a worker has one request. */
#ifndef CAISSON_TEMPORARY_H
#define CAISSON_TEMPORARY_H

#include <stdbool.h>

#define TEMPORARY_PREFIX ".caisson-"

bool is_temporary(const char *name);
/* A fresh name in the buffer; the caller creates it with O_EXCL and calls temporary_made. */
void temporary_name(char name[32]);
/* From now on it is removed when the request is cancelled, or by temporary_discard. */
void temporary_made(int directory, const char *name);
void temporary_discard(void);
/* It has been renamed: there is nothing to remove. */
void temporary_kept(void);

#endif
