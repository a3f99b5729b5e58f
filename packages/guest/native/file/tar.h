/* The 512-byte header of a tar member, both ways. POSIX ustar with pax; reading also takes GNU's long names. */
#ifndef CAISSON_TAR_H
#define CAISSON_TAR_H

#include "request.h"

enum { tar_block = 512 };

struct tar_member {
  char path[path_bytes], link[path_bytes];
  char type; /* '0' file, '1' hard link, '2' symbolic link, '3' and '4' devices, '5' directory, '6' fifo, or as found */
  uint32_t mode, uid, gid, major, minor;
  uint64_t size;
  int64_t mtime;
};

/* False when the block is no header: wrong checksum or numbers. *zero: it is all zero, the mark of the end. */
bool tar_decode(const uint8_t block[tar_block], struct tar_member *member, bool *zero);
/* The blocks of one header, with a pax header before it where a value does not fit; their size. */
size_t tar_encode(const struct tar_member *member, uint8_t out[32 * tar_block]);
/* The same with records of one's own in the pax header, for which `out` has room besides. */
size_t tar_encode_with(const struct tar_member *member, const char *records, size_t size, uint8_t *out);
/* One record of a pax header; its size. */
size_t tar_put_record(char *out, const char *key, const void *value, size_t size);
/* Takes the records of a pax header into the member; false when they are malformed. */
bool tar_apply_pax(struct tar_member *member, const char *text, size_t size);
/*
 * Makes a member's path safe to walk: no leading slashes, no "." or empty components, no trailing slash. False when it
 * has a ".." or nothing is left of it that could be made (the root itself leaves an empty path and is true).
 */
bool tar_clean_path(char *path);

#endif
