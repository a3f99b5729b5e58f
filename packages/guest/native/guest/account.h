/* Users and groups as the sandbox's own /etc/passwd and /etc/group have them, read anew each time: they may change. */
#ifndef CAISSON_ACCOUNT_H
#define CAISSON_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { account_groups_max = 64 };

struct account {
  char name[33];
  uint32_t uid, gid;
  char home[512]; /* a longer one is cut, which no tool makes */
  char shell[128];
  gid_t groups[account_groups_max];
  size_t group_count;
};

/*
 * A name or a number. `user` and `root` are always there, with uid 1000 and 0, whatever the files say or lack; a number
 * needs no entry. False: the passwd file has no such user.
 */
bool account_find(const char *name, size_t size, struct account *out);
/* The name of a uid or gid, or false. The answer is cached within a process that calls account_cache(). */
bool account_name_of_uid(uint32_t uid, char name[33]);
bool account_name_of_gid(uint32_t gid, char name[33]);
/* Becomes the account for good. 0 or an errno. Raw system calls: they are this task's alone, also where libc has threads. */
int account_become(const struct account *account);
/* Adds `user` to passwd and group, and its home, where they are missing. Does what it can; a read-only root is no fault. */
void account_create_user(void);

#endif
