/*
 * Pack mode: the changes of an overlay as the tar of an image layer, the opposite of unpack mode.
 *
 * Laws
 * 1. The same tree gives the same bytes, whatever the order of the disk: the digest of the archive names the tree.
 * 2. What hides a file is `.wh.` and its name, what hides all that a folder has below is `.wh..wh..opq` in it. A file that
 *    is really called so says so in a record that unpack mode knows.
 * 3. No path is resolved and no link followed. What cannot be told in an archive is an error, and never left out in
 *    silence; but for sockets, which are nothing without their process.
 * 4. The size of a file is the one it had when it was opened: the archive is well-formed even of a tree that changes.
 *
 * It ends with 0 after the whole archive, and otherwise with a line on stderr: 1 for what the machine refused, 3 beyond a
 * limit, 4 for what no archive can tell.
 */
#ifndef CAISSON_PACK_H
#define CAISSON_PACK_H

#include <stdint.h>
#include <sys/stat.h>

#include "../file/tar.h"

enum pack_failure { pack_refused = 1, pack_limit = 3, pack_untold = 4 };

int pack_main(int argc, char **argv);

/* Says why at which path, and ends. `error` is an errno, or 0. */
__attribute__((noreturn)) void pack_fail(enum pack_failure failure, int error, const char *why);

/* pack-member.c: the header of a member, with what an ordinary header has no room for; `fd` is -1 where it has no attributes. */
void put_header(struct tar_member *member, const struct stat *st, int fd);
void put_content(int fd, uint64_t size);
void put_end(void);
void put_limit(uint64_t bytes);
/* From now on everything has one owner, root unless it is said, was changed at this second, and has no attributes. */
void put_impersonal(uint64_t time);
void put_owner(uint32_t id);

#endif
