/* Mounts, and the idmapped ones above all: a tree whose ids are shifted without touching a file. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"

#ifndef SYS_open_tree
#define SYS_open_tree 428
#endif
#ifndef SYS_move_mount
#define SYS_move_mount 429
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

enum {
  open_tree_clone = 1,
  move_mount_from_empty = 4,
  mount_attr_rdonly = 1,
  mount_attr_nosuid = 2,
  mount_attr_nodev = 4,
  mount_attr_idmap = 0x00100000,
};

/* As the kernel's struct mount_attr. */
struct attributes {
  uint64_t set, clear, propagation, user_namespace;
};

static bool write_map(int pid, const char *name, uint32_t first, uint32_t count) {
  char path[64], line[64];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  int size = snprintf(line, sizeof line, "0 %u %u\n", first, count);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  bool done = fd >= 0 && write(fd, line, (size_t)size) == size;
  int error = errno;
  if (fd >= 0) close(fd);
  errno = error;
  return done;
}

/* A user namespace that has nothing but its map: a child makes it, and lives until its descriptor is taken. */
int make_namespace(uint32_t first, uint32_t count) {
  int ready[2], namespace = -1;
  if (pipe2(ready, O_CLOEXEC) != 0) return -1;
  int pid = fork();
  if (pid == 0) {
    close(ready[0]);
    char byte = unshare(CLONE_NEWUSER) == 0 ? 0 : (char)errno;
    (void)!write(ready[1], &byte, 1);
    pause();
    _exit(0);
  }
  /* The child's end is the child's alone: when it dies without a word, that is the end and not a wait. */
  close(ready[1]);
  char failed = EIO;
  int error = 0;
  if (pid > 0 && read(ready[0], &failed, 1) == 1 && failed == 0) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/user", pid);
    if (write_map(pid, "uid_map", first, count) && write_map(pid, "gid_map", first, count))
      namespace = open(path, O_RDONLY | O_CLOEXEC);
    error = errno;
  } else {
    error = failed;
  }
  if (pid > 0) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
  }
  close(ready[0]);
  errno = error;
  return namespace;
}

/*
 * A copy of the tree that is mounted nowhere yet, its ids shifted by the namespace's map, or as they are without one. Its
 * programs and devices give nobody anything.
 */
int open_shifted(const char *source, int namespace, bool read_only) {
  int tree = (int)syscall(SYS_open_tree, AT_FDCWD, source, open_tree_clone | O_CLOEXEC);
  if (tree < 0) return -1;
  struct attributes attributes = {.set = mount_attr_nosuid | mount_attr_nodev | (read_only ? mount_attr_rdonly : 0)};
  if (namespace >= 0) {
    attributes.set |= mount_attr_idmap;
    attributes.user_namespace = (uint64_t)namespace;
  }
  if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0) return tree;
  int error = errno;
  close(tree);
  errno = error;
  return -1;
}

void task_mount_idmapped(struct slice params, struct outcome *outcome) {
  char source[4096], target[4096];
  host_path(params, CAISSON_TAG_HOST_MOUNT_IDMAPPED_SOURCE, source);
  host_path(params, CAISSON_TAG_HOST_MOUNT_IDMAPPED_TARGET, target);
  int namespace = make_namespace((uint32_t)message_uint(params, CAISSON_TAG_HOST_MOUNT_IDMAPPED_FIRST_ID, 0),
                                 (uint32_t)message_uint(params, CAISSON_TAG_HOST_MOUNT_IDMAPPED_COUNT, 1));
  if (namespace < 0) return step_failed(outcome, "user namespace");
  int tree = open_shifted(source, namespace, message_bool(params, CAISSON_TAG_HOST_MOUNT_IDMAPPED_READ_ONLY));
  if (tree < 0) return step_failed(outcome, "shifting the ids");
  if (syscall(SYS_move_mount, tree, "", AT_FDCWD, target, move_mount_from_empty) != 0)
    return step_failed(outcome, "move_mount");
}

void task_mount(struct slice params, struct outcome *outcome) {
  char source[4096], target[4096], type[128], data[32 * 1024 + 1];
  host_path(params, CAISSON_TAG_HOST_MOUNT_SOURCE, source);
  host_path(params, CAISSON_TAG_HOST_MOUNT_TARGET, target);
  host_path(params, CAISSON_TAG_HOST_MOUNT_TYPE, type);
  host_path(params, CAISSON_TAG_HOST_MOUNT_DATA, data);
  unsigned long flags = (unsigned long)message_uint(params, CAISSON_TAG_HOST_MOUNT_FLAGS, 0);
  if (mount(source, target, type, flags, data) != 0) step_failed(outcome, "mount");
}

/*
 * Whoever closes the last descriptor of a detached mount waits while the kernel forgets all the files it knew of it. That
 * is a process of its own, which begins when this one, whose end is the answer, has gone.
 */
static void hand_over(int held) {
  int gone[2];
  char byte;
  if (held < 0 || pipe2(gone, O_CLOEXEC) != 0) return;
  if (fork() == 0) {
    close(gone[1]);
    (void)!read(gone[0], &byte, 1);
    _exit(0);
  }
  close(held);
}

void task_unmount(struct slice params, struct outcome *outcome) {
  char target[4096];
  host_path(params, CAISSON_TAG_HOST_UNMOUNT_TARGET, target);
  bool detach = message_bool(params, CAISSON_TAG_HOST_UNMOUNT_DETACH);
  bool later = detach && message_bool(params, CAISSON_TAG_HOST_UNMOUNT_LATER);
  int held = later ? open(target, O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1;
  if (umount2(target, UMOUNT_NOFOLLOW | (detach ? MNT_DETACH : 0)) != 0) return step_failed(outcome, "umount2");
  hand_over(held);
}

void task_sync(struct slice params, struct outcome *outcome) {
  char path[4096];
  host_path(params, CAISSON_TAG_HOST_PATH_PATH, path);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return step_failed(outcome, "open");
  if (syscall(SYS_syncfs, fd) != 0) step_failed(outcome, "syncfs");
}
