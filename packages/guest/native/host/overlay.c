/*
 * The root filesystem of a sandbox: layers below, its changes above, folders of the host shown in it, all with ids
 * shifted to a range of its own, put in place as one mount.
 *
 * The parts are joined in a mount namespace of this child alone. Whatever goes wrong, and whenever, nothing of them is
 * left on the host: the namespace ends with the child.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host.h"

enum { open_tree_clone = 1, move_mount_from_empty = 4, at_recursive = 0x8000, names_max = 3900, options_max = 4000 };

/* As the kernel's headers have them, which musl does not bring. */
enum { capability_version_3 = 0x20080522 };
struct capability_header {
  uint32_t version;
  int pid;
};
struct capability_data {
  uint32_t effective, permitted, inheritable;
};

/* Overlay does everything below as whoever mounted it. That must be somebody whom the shifted trees know: their root. */
static bool become_root_of(uint32_t id) {
  struct capability_header header = {capability_version_3, 0};
  struct capability_data data[2];
  setfsgid(id);
  setfsuid(id);
  /* Leaving the real root gave up the capabilities over files; what was permitted still is. */
  if (syscall(SYS_capget, &header, data) != 0) return false;
  for (int i = 0; i < 2; i++) data[i].effective = data[i].permitted;
  return syscall(SYS_capset, &header, data) == 0;
}

static bool attach(const char *source, const char *target, int namespace, bool read_only) {
  int tree = open_shifted(source, namespace, read_only);
  if (tree < 0) return false;
  bool done = syscall(SYS_move_mount, tree, "", AT_FDCWD, target, move_mount_from_empty) == 0;
  int error = errno;
  close(tree);
  errno = error;
  return done;
}

/* Each layer at a short name of its own: the options of a mount must fit into a page. */
static bool attach_layers(struct slice params, int namespace, char options[options_max]) {
  size_t cursor = 0, used = 0;
  struct slice layer;
  char names[names_max] = "";
  for (int i = 0; message_next(params, CAISSON_TAG_HOST_MOUNT_OVERLAY_LAYERS, &cursor, &layer); i++) {
    char source[4096], name[16];
    memcpy(source, layer.at, layer.size);
    source[layer.size] = 0;
    size_t length = (size_t)snprintf(name, sizeof name, "l%d", i);
    if (used + length + 2 > sizeof names) return errno = E2BIG, false;
    if (mkdir(name, 0700) != 0 || !attach(source, name, namespace, true)) return false;
    /* Given lowest first; overlay wants the highest first. */
    memmove(names + length + (used > 0), names, used);
    memcpy(names, name, length);
    if (used > 0) names[length] = ':';
    used += length + (used > 0);
  }
  names[used] = 0;
  bool writable = message_has(params, CAISSON_TAG_HOST_MOUNT_OVERLAY_CHANGES);
  bool is_volatile = writable && message_bool(params, CAISSON_TAG_HOST_MOUNT_OVERLAY_IS_VOLATILE);
  snprintf(options, options_max, "lowerdir=%s%s%s", names, writable ? ",upperdir=changes/upper,workdir=changes/work" : "",
           is_volatile ? ",volatile" : "");
  return used > 0 || (errno = EINVAL, false);
}

static bool attach_binds(struct slice params, int namespace) {
  size_t sources = 0, targets = 0;
  struct slice source, target;
  while (message_next(params, CAISSON_TAG_HOST_MOUNT_OVERLAY_BIND_SOURCES, &sources, &source)) {
    char from[4096], to[4096];
    if (!message_next(params, CAISSON_TAG_HOST_MOUNT_OVERLAY_BIND_TARGETS, &targets, &target)) return errno = EINVAL, false;
    if (target.size + 2 > sizeof to || target.at[0] != '/') return errno = EINVAL, false;
    memcpy(from, source.at, source.size);
    from[source.size] = 0;
    to[0] = 'm';
    memcpy(to + 1, target.at, target.size);
    to[target.size + 1] = 0;
    if (!attach(from, to, namespace, true)) return false;
  }
  return true;
}

void task_mount_overlay(struct slice params, struct outcome *outcome) {
  char changes[4096], target[4096], options[options_max];
  host_path(params, CAISSON_TAG_HOST_MOUNT_OVERLAY_CHANGES, changes);
  host_path(params, CAISSON_TAG_HOST_MOUNT_OVERLAY_TARGET, target);
  int namespace = -1;
  uint32_t first = (uint32_t)message_uint(params, CAISSON_TAG_HOST_MOUNT_OVERLAY_FIRST_ID, 0);
  if (message_has(params, CAISSON_TAG_HOST_MOUNT_OVERLAY_FIRST_ID)) {
    namespace = make_namespace(first, (uint32_t)message_uint(params, CAISSON_TAG_HOST_MOUNT_OVERLAY_COUNT, 65536));
    if (namespace < 0) return step_failed(outcome, "user namespace");
  }
  int host = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
  if (host < 0 || unshare(CLONE_NEWNS) != 0) return step_failed(outcome, "mount namespace");
  if (mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return step_failed(outcome, "private mounts");
  if (mount("caisson", target, "tmpfs", 0, "mode=0700,size=1m") != 0 || chdir(target) != 0)
    return step_failed(outcome, "a place to join them");
  umask(0);
  if (!attach_layers(params, namespace, options)) return step_failed(outcome, "a layer");
  if (mkdir("changes", 0700) != 0 || mkdir("m", 0755) != 0) return step_failed(outcome, "mkdir");
  if (changes[0] != 0 && !attach(changes, "changes", namespace, false)) return step_failed(outcome, "the changes");
  if (namespace >= 0 && !become_root_of(first)) return step_failed(outcome, "capabilities");
  /* Nobody gains anything by a program or a device of the tree: inside it is forbidden anyway, and outside it would be real. */
  unsigned long flags = MS_NOSUID | MS_NODEV | (changes[0] == 0 ? MS_RDONLY : 0);
  if (mount("caisson", "m", "overlay", flags, options) != 0) return step_failed(outcome, "overlay");
  if (namespace >= 0 && !become_root_of(0)) return step_failed(outcome, "capabilities");
  if (!attach_binds(params, namespace)) return step_failed(outcome, "a folder of the host");
  int whole = (int)syscall(SYS_open_tree, AT_FDCWD, "m", open_tree_clone | at_recursive | O_CLOEXEC);
  if (whole < 0) return step_failed(outcome, "open_tree");
  if (setns(host, CLONE_NEWNS) != 0) return step_failed(outcome, "back to the host");
  if (syscall(SYS_move_mount, whole, "", AT_FDCWD, target, move_mount_from_empty) != 0) step_failed(outcome, "move_mount");
}
