/*
 * Unpack mode: a plain tar on stdin becomes the tree of one image layer, as an overlay wants it.
 *
 * Laws
 * 1. Nothing is made outside of the folder: the process is locked into it, and every parent is opened without following
 *    a link. A name that tries is refused, and never repaired into something else.
 * 2. What is refused ends the process with one answer on stdout that says why; what was made so far is the caller's to
 *    remove.
 * 3. Owners, modes, times and links are those of the archive. Devices are counted and not made.
 */
#ifndef CAISSON_UNPACK_H
#define CAISSON_UNPACK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "../file/tar.h"

enum reason { reason_invalid, reason_truncated, reason_limit, reason_system };

struct unpack_counts {
  uint64_t entries, files, directories, links, symlinks, fifos, whiteouts, opaque, skipped_devices, skipped_attributes;
};
extern struct unpack_counts unpack_counts;

int unpack_main(int argc, char **argv);

/* One more node that the archive asks for, by a member or by a name with folders that it did not mention. */
void unpack_count_entry(void);

/* Answers why it ends, and ends. `error` is an errno, or 0. */
__attribute__((noreturn, format(printf, 3, 4))) void unpack_fail(enum reason reason, int error, const char *format, ...);

/* The archive, counted against the most bytes it may have. */
void input_limit(uint64_t bytes);
uint64_t input_bytes(void);
/* Up to size bytes without copying; 0 at the end of stdin. */
size_t input_some(size_t size, const uint8_t **at);
/* All of them, or the end of the process. To NULL they are skipped. */
void input_exactly(void *to, uint64_t size);

/* What a pax header says beyond tar.h: times to the nanosecond, and extended attributes. */
struct attributes {
  const char *text; /* NULL: none */
  size_t size;
  long mtime_nanoseconds;
  /* Names that look like marks and are none: those of its folders, or its own too. */
  bool literal_folders, literal_path;
};
/* Whether access lists are kept: they are those of the sandbox whose changes these are, and mean nothing in an image. */
void attributes_keep_access_lists(bool keep);
/* Refuses what would silently give other content, such as sparse files. */
void attributes_read(struct attributes *a, const char *text, size_t size);
void attributes_apply(const struct attributes *a, int fd, const char *path);

/* Makes one member; a file's content is taken from the input. */
void make_member(struct tar_member *m, const struct attributes *a);
/* The times of directories, which everything made in them has changed. */
void finish_directories(void);

#endif
