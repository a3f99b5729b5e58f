/* btrfs by its ioctls: subvolumes, snapshots and simple quotas. The structures are the kernel's, as its headers give them. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../wire/bytes.h"
#include "host.h"

enum { name_max = 4039, snapshot_read_only = 2, quota_simple = 4, limit_referenced = 1, key_quota_info = 242, key_quota_limit = 244 };

struct volume {
  int64_t fd;
  uint64_t transaction, flags, unused[4];
  char name[name_max + 1];
};
struct quota_control {
  uint64_t command, status;
};
struct quota_limit {
  uint64_t group, flags, max_referenced, max_exclusive, reserved_referenced, reserved_exclusive;
};
struct search {
  uint64_t tree, min_object, max_object, min_offset, max_offset, min_transaction, max_transaction;
  uint32_t min_type, max_type, items, unused;
  uint64_t unused_too[4];
  uint8_t buffer[3992];
};
struct lookup {
  uint64_t tree, object;
  char name[4080];
};

#define SNAPSHOT_CREATE _IOW(0x94, 23, struct volume)
#define SUBVOLUME_CREATE _IOW(0x94, 24, struct volume)
#define SUBVOLUME_DELETE _IOW(0x94, 63, struct volume)
#define QUOTA_CONTROL _IOWR(0x94, 40, struct quota_control)
#define QUOTA_LIMIT _IOR(0x94, 43, struct quota_limit)
#define TREE_SEARCH _IOWR(0x94, 17, struct search)
#define INODE_LOOKUP _IOWR(0x94, 18, struct lookup)

_Static_assert(sizeof(struct volume) == 4096, "the kernel's btrfs_ioctl_vol_args_v2");
_Static_assert(sizeof(struct search) == 4096, "the kernel's btrfs_ioctl_search_args");
_Static_assert(sizeof(struct lookup) == 4096, "the kernel's btrfs_ioctl_ino_lookup_args");

enum { first_free_object = 256, quota_tree = 8 };

static int open_directory(const char *path) { return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); }

/* The parent directory, and the last component in volume->name. */
static int open_parent_of(char *path, struct volume *volume) {
  char *slash = strrchr(path, '/');
  memset(volume, 0, sizeof *volume);
  if (slash == NULL || slash[1] == 0 || strlen(slash + 1) > name_max) {
    errno = EINVAL;
    return -1;
  }
  strcpy(volume->name, slash + 1);
  if (slash == path) return open_directory("/");
  *slash = 0;
  int fd = open_directory(path);
  int error = errno;
  *slash = '/';
  errno = error;
  return fd;
}

void task_subvolume_create(struct slice params, struct outcome *outcome) {
  char path[4096];
  static struct volume volume;
  host_path(params, CAISSON_TAG_HOST_PATH_PATH, path);
  int parent = open_parent_of(path, &volume);
  if (parent < 0) return step_failed(outcome, "open");
  if (ioctl(parent, SUBVOLUME_CREATE, &volume) != 0) step_failed(outcome, "subvolume create");
}

void task_subvolume_delete(struct slice params, struct outcome *outcome) {
  char path[4096];
  static struct volume volume;
  host_path(params, CAISSON_TAG_HOST_PATH_PATH, path);
  int parent = open_parent_of(path, &volume);
  if (parent < 0) return step_failed(outcome, "open");
  if (ioctl(parent, SUBVOLUME_DELETE, &volume) != 0) step_failed(outcome, "subvolume delete");
}

void task_snapshot(struct slice params, struct outcome *outcome) {
  char source[4096], target[4096];
  static struct volume volume;
  host_path(params, CAISSON_TAG_HOST_SNAPSHOT_SOURCE, source);
  host_path(params, CAISSON_TAG_HOST_SNAPSHOT_TARGET, target);
  int parent = open_parent_of(target, &volume);
  if (parent < 0) return step_failed(outcome, "open target");
  int from = open_directory(source);
  if (from < 0) return step_failed(outcome, "open source");
  volume.fd = from;
  volume.flags = message_bool(params, CAISSON_TAG_HOST_SNAPSHOT_READ_ONLY) ? snapshot_read_only : 0;
  if (ioctl(parent, SNAPSHOT_CREATE, &volume) != 0) step_failed(outcome, "snapshot");
}

void task_quota_enable(struct slice params, struct outcome *outcome) {
  char path[4096];
  host_path(params, CAISSON_TAG_HOST_PATH_PATH, path);
  int fd = open_directory(path);
  if (fd < 0) return step_failed(outcome, "open");
  struct quota_control control = {.command = quota_simple};
  if (ioctl(fd, QUOTA_CONTROL, &control) != 0 && errno != EEXIST) step_failed(outcome, "quota enable");
}

void task_quota_limit(struct slice params, struct outcome *outcome) {
  char path[4096];
  host_path(params, CAISSON_TAG_HOST_QUOTA_LIMIT_PATH, path);
  int fd = open_directory(path);
  if (fd < 0) return step_failed(outcome, "open");
  /* Group 0 is the one of the subvolume that the descriptor is in; all ones clears a limit. */
  struct quota_limit limit = {.flags = limit_referenced,
                              .max_referenced = message_uint(params, CAISSON_TAG_HOST_QUOTA_LIMIT_BYTES, UINT64_MAX)};
  if (ioctl(fd, QUOTA_LIMIT, &limit) != 0) step_failed(outcome, "quota limit");
}

/* The item of this type of the quota group; its bytes, or NULL. */
static const uint8_t *find_item(struct search *search, int fd, uint64_t group, uint32_t type) {
  memset(search, 0, sizeof *search);
  search->tree = quota_tree;
  search->min_offset = search->max_offset = group;
  search->max_transaction = UINT64_MAX;
  search->min_type = search->max_type = type;
  search->items = 1;
  if (ioctl(fd, TREE_SEARCH, search) != 0) return NULL;
  if (search->items == 0) {
    errno = ENODATA;
    return NULL;
  }
  return search->buffer + 32;
}

void task_usage(struct slice params, struct outcome *outcome) {
  char path[4096];
  static struct search search;
  static struct lookup lookup;
  lookup.object = first_free_object;
  host_path(params, CAISSON_TAG_HOST_PATH_PATH, path);
  int fd = open_directory(path);
  if (fd < 0) return step_failed(outcome, "open");
  if (ioctl(fd, INODE_LOOKUP, &lookup) != 0) return step_failed(outcome, "which subvolume");
  const uint8_t *info = find_item(&search, fd, lookup.tree, key_quota_info);
  if (info == NULL) return step_failed(outcome, "quota group");
  outcome->values[0] = load64(info + 8);
  const uint8_t *limit = find_item(&search, fd, lookup.tree, key_quota_limit);
  if (limit == NULL || (load64(limit) & limit_referenced) == 0 || load64(limit + 8) == UINT64_MAX) return;
  outcome->values[1] = load64(limit + 8);
  outcome->has[1] = true;
}
