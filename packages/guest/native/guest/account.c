#include "account.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "raw-call.h"

enum {
  /* Larger files are cut: an /etc/passwd of a sandbox is its users' to write. */
  file_max = 256 * 1024,
  fields_max = 7,
};

/* The whole file with a NUL after it, or NULL. Only a regular file: a pipe would block. */
static char *slurp(const char *path, size_t *size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return NULL;
  off_t length = lseek(fd, 0, SEEK_END);
  if (length < 0 || length > file_max) length = length < 0 ? 0 : file_max;
  char *text = malloc((size_t)length + 1);
  ssize_t n = text == NULL ? -1 : pread(fd, text, (size_t)length, 0);
  close(fd);
  if (n < 0) {
    free(text);
    return NULL;
  }
  text[n] = 0;
  *size = (size_t)n;
  return text;
}

/* Splits the line at `at` in place at colons; gives the start of the next line. */
static char *split(char *at, char *fields[fields_max], int *count) {
  char *end = strchr(at, '\n');
  if (end != NULL) *end = 0;
  *count = 0;
  char *next = at;
  while (next != NULL && *count < fields_max) {
    fields[(*count)++] = next;
    next = strchr(next, ':');
    if (next != NULL) *next++ = 0;
  }
  return end == NULL ? NULL : end + 1;
}

static bool number(const char *text, uint32_t *out) {
  if (*text < '0' || *text > '9') return false;
  char *end;
  errno = 0;
  unsigned long value = strtoul(text, &end, 10);
  if (*end != 0 || errno != 0 || value > 4294967294ul) return false;
  *out = (uint32_t)value;
  return true;
}

static void fill(struct account *out, char *fields[fields_max], int count) {
  snprintf(out->name, sizeof out->name, "%s", fields[0]);
  number(fields[2], &out->uid);
  number(fields[3], &out->gid);
  snprintf(out->home, sizeof out->home, "%s", count > 5 && fields[5][0] == '/' ? fields[5] : "/");
  snprintf(out->shell, sizeof out->shell, "%s", count > 6 && fields[6][0] == '/' ? fields[6] : "/bin/sh");
}

static bool search_passwd(const char *name, bool by_uid, uint32_t uid, struct account *out) {
  size_t size;
  char *text = slurp("/etc/passwd", &size);
  bool found = false;
  for (char *at = text; at != NULL && *at != 0 && !found;) {
    char *fields[fields_max];
    int count;
    uint32_t entry_uid, entry_gid;
    at = split(at, fields, &count);
    if (count < 4 || !number(fields[2], &entry_uid) || !number(fields[3], &entry_gid)) continue;
    found = by_uid ? entry_uid == uid : strcmp(fields[0], name) == 0;
    if (found) fill(out, fields, count);
  }
  free(text);
  return found;
}

static bool lists(const char *members, const char *name) {
  size_t length = strlen(name);
  while (*members != 0) {
    const char *comma = strchr(members, ',');
    size_t size = comma == NULL ? strlen(members) : (size_t)(comma - members);
    if (size == length && memcmp(members, name, size) == 0) return true;
    if (comma == NULL) return false;
    members = comma + 1;
  }
  return false;
}

static void add_groups(struct account *account) {
  size_t size;
  char *text = slurp("/etc/group", &size);
  account->groups[0] = account->gid;
  account->group_count = 1;
  for (char *at = text; at != NULL && *at != 0 && account->group_count < account_groups_max;) {
    char *fields[fields_max];
    int count;
    uint32_t gid;
    at = split(at, fields, &count);
    if (count < 4 || !number(fields[2], &gid) || gid == account->gid || !lists(fields[3], account->name)) continue;
    account->groups[account->group_count++] = gid;
  }
  free(text);
}

static void builtin(struct account *out, const char *name, uint32_t id, const char *home) {
  *out = (struct account){.uid = id, .gid = id};
  snprintf(out->name, sizeof out->name, "%s", name);
  snprintf(out->home, sizeof out->home, "%s", home);
  snprintf(out->shell, sizeof out->shell, "/bin/sh");
}

/* Which version of both files an answer came from. Never by statx. */
struct file_state {
  ino_t inode[2];
  off_t size[2];
  struct timespec changed[2];
};

static void look_at_files(struct file_state *state) {
  static const char *const paths[2] = {"/etc/passwd", "/etc/group"};
  memset(state, 0, sizeof *state);
  for (int i = 0; i < 2; i++) {
    struct stat st;
    if (fstatat(AT_FDCWD, paths[i], &st, 0) != 0) continue;
    state->inode[i] = st.st_ino;
    state->size[i] = st.st_size;
    state->changed[i] = st.st_ctim;
  }
}

static bool search(const char *given, size_t size, struct account *out);

/* The last answer is kept while both files stay as they were: most requests ask for the same user. */
bool account_find(const char *given, size_t size, struct account *out) {
  static struct account last;
  static struct file_state last_state;
  static char last_name[33];
  struct file_state state;
  look_at_files(&state);
  bool same = size < sizeof last_name && strlen(last_name) == size && memcmp(last_name, given, size) == 0;
  if (same && memcmp(&state, &last_state, sizeof state) == 0) {
    memcpy(out, &last, sizeof last);
    return true;
  }
  last_name[0] = 0;
  if (!search(given, size, out)) return false;
  last = *out;
  last_state = state;
  memcpy(last_name, given, size);
  last_name[size] = 0;
  return true;
}

static bool search(const char *given, size_t size, struct account *out) {
  char name[33];
  uint32_t uid;
  if (size >= sizeof name) return false;
  memcpy(name, given, size);
  name[size] = 0;
  memset(out, 0, sizeof *out);
  if (number(name, &uid)) {
    if (!search_passwd(NULL, true, uid, out)) builtin(out, name, uid, "/");
  } else if (!search_passwd(name, false, 0, out)) {
    if (strcmp(name, "user") == 0) builtin(out, name, 1000, "/home/user");
    else if (strcmp(name, "root") == 0) builtin(out, name, 0, "/root");
    else return false;
  }
  add_groups(out);
  return true;
}

struct name_cache {
  bool set, found;
  uint32_t id;
  char name[33];
};

static bool name_of(const char *path, struct name_cache *cache, uint32_t id, char name[33]) {
  struct name_cache *entry = &cache[id % 16];
  if (!entry->set || entry->id != id) {
    size_t size;
    char *text = slurp(path, &size);
    *entry = (struct name_cache){.set = true, .id = id};
    for (char *at = text; at != NULL && *at != 0 && !entry->found;) {
      char *fields[fields_max];
      int count;
      uint32_t found;
      at = split(at, fields, &count);
      if (count < 3 || !number(fields[2], &found) || found != id) continue;
      snprintf(entry->name, sizeof entry->name, "%s", fields[0]);
      entry->found = true;
    }
    free(text);
  }
  memcpy(name, entry->name, sizeof entry->name);
  return entry->found;
}

static struct name_cache users[16], groups[16];
bool account_name_of_uid(uint32_t uid, char name[33]) { return name_of("/etc/passwd", users, uid, name); }
bool account_name_of_gid(uint32_t gid, char name[33]) { return name_of("/etc/group", groups, gid, name); }

int account_become(const struct account *account) {
  /* Root of the guest stays as it is: there is nothing to give up, and a namespace may forbid setgroups. */
  bool is_root = raw_call(SYS_getuid, 0, 0, 0, 0) == 0 && raw_call(SYS_getgid, 0, 0, 0, 0) == 0;
  if (account->uid == 0 && account->gid == 0 && is_root) return 0;
  long done = raw_call(SYS_setgroups, (long)account->group_count, (long)account->groups, 0, 0);
  if (done == 0) done = raw_call(SYS_setresgid, account->gid, account->gid, account->gid, 0);
  if (done == 0) done = raw_call(SYS_setresuid, account->uid, account->uid, account->uid, 0);
  return (int)-done;
}
