/* One node of the file system as the protocol describes it. Never by statx: an old gVisor refuses it. */
#ifndef CAISSON_ENTRY_H
#define CAISSON_ENTRY_H

#include <sys/stat.h>

#include "request.h"

/* The fields of an entry; `target` is read through directory and name when it is a symbolic link. */
void write_entry(struct writer *w, const char *path, const struct stat *st, int directory, const char *name);
/* An entry_result, replied; or the error. */
void reply_entry(const char *path, bool follow);
/* The same in a buffer, for a method that has more to say. */
struct writer entry_result(uint8_t *buffer, size_t size, const char *path, const struct stat *st);

#endif
