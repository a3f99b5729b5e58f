/* A filesystem in a file: a loop device that ends with its last user, and the mount of it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "host.h"

/* As the kernel's headers have them, which musl does not bring. */
enum { loop_configure = 0x4C0A, loop_get_free = 0x4C82, loop_autoclear = 4, loop_direct_io = 16 };
struct loop_config {
  uint32_t fd, block_size;
  uint64_t device, inode, rdevice, offset, size_limit;
  uint32_t number, encrypt_type, encrypt_key_size, flags;
  uint8_t names[160];
  uint64_t init[2], reserved[8];
};

/*
 * Between being told of a free one and taking it, somebody else may have. Ours come by the hundred and take turns, those
 * of every server on the machine; others do not know of turns, and come one by one. One that is only just let go of is
 * told as free too, and whoever lets go may have to wait for a processor: so the later rounds have pauses, a second in all.
 */
enum { rounds = 128, quick_rounds = 28, pause_us = 10000 };

static int configure_free(int control, int file, char path[32]) {
  for (int i = 0; i < rounds; i++) {
    int number = ioctl(control, loop_get_free);
    if (number < 0) return -1;
    snprintf(path, 32, "/dev/loop%d", number);
    int device = open(path, O_RDWR | O_CLOEXEC);
    if (device < 0 && errno == ENOENT) continue;
    if (device < 0) return -1;
    /* Past the host's cache, where it can be: what is written is cached once, and not throttled as two disks would be. */
    struct loop_config config = {.fd = (uint32_t)file, .flags = loop_autoclear | loop_direct_io};
    if (ioctl(device, loop_configure, &config) == 0) return device;
    int error = errno;
    close(device);
    errno = error;
    if (error != EBUSY) return -1;
    if (i >= quick_rounds) usleep(pause_us);
  }
  return -1;
}

static int take_free(int file, char path[32]) {
  int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
  if (control < 0) return -1;
  while (flock(control, LOCK_EX) != 0)
    if (errno != EINTR) return -1;
  int device = configure_free(control, file, path);
  int error = errno;
  close(control);
  errno = error;
  return device;
}

void task_mount_disk(struct slice params, struct outcome *outcome) {
  char source[4096], target[4096], type[128], data[512], device[32];
  host_path(params, CAISSON_TAG_HOST_MOUNT_DISK_FILE, source);
  host_path(params, CAISSON_TAG_HOST_MOUNT_DISK_TARGET, target);
  host_path(params, CAISSON_TAG_HOST_MOUNT_DISK_TYPE, type);
  host_path(params, CAISSON_TAG_HOST_MOUNT_DISK_DATA, data);
  int file = open(source, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return step_failed(outcome, "open");
  if (take_free(file, device) < 0) return step_failed(outcome, "loop device");
  if (mount(device, target, type, MS_NODEV | MS_NOATIME, data) != 0) step_failed(outcome, "mount");
}
