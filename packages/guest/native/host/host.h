/*
 * Host mode: the server's hands. Requests on stdin, answers on stdout (src/host/host-messages.ts has the protocol).
 *
 * Laws
 * - Nothing blocks the loop: what may take long (a snapshot, a mount) is done by a forked child, which is cheap because
 *   this program is small; a program is waited for by the loop.
 * - Everything that is started here has its own three descriptors and no other.
 */
#ifndef CAISSON_HOST_H
#define CAISSON_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "../wire/message.h"
#include "../wire/writer.h"
#include "host-protocol.h"

int host_main(int argc, char **argv);
int without_main(int argc, char **argv);

/* host.c */
void host_answer(uint32_t id, const struct writer *result);
void host_fail(uint32_t id, int error, const char *step);

/* task.c: an operation in a child. Gives 0 or an errno, with the step that failed. */
struct outcome {
  int error;
  char step[64];
  uint64_t values[2];
  bool has[2];
};
typedef void (*host_task)(struct slice params, struct outcome *outcome);
void task_begin(uint32_t id, uint16_t operation, host_task task, struct slice params);
bool task_reaped(int pid);
void step_failed(struct outcome *outcome, const char *step);

/* mounts.c, overlay.c, loop-disk.c, btrfs.c */
void task_mount(struct slice params, struct outcome *outcome);
void task_unmount(struct slice params, struct outcome *outcome);
void task_mount_idmapped(struct slice params, struct outcome *outcome);
void task_mount_overlay(struct slice params, struct outcome *outcome);
void task_mount_disk(struct slice params, struct outcome *outcome);
void task_sync(struct slice params, struct outcome *outcome);
void task_subvolume_create(struct slice params, struct outcome *outcome);
void task_subvolume_delete(struct slice params, struct outcome *outcome);
void task_snapshot(struct slice params, struct outcome *outcome);
void task_quota_enable(struct slice params, struct outcome *outcome);
void task_quota_limit(struct slice params, struct outcome *outcome);
void task_usage(struct slice params, struct outcome *outcome);
/* A user namespace that has nothing but its map, 0 shown as `first` and so on; and a tree seen through it. -1 and errno. */
int make_namespace(uint32_t first, uint32_t count);
int open_shifted(const char *source, int namespace, bool read_only);
/* A field as a C string; the table bounds it to what the buffer holds. */
void host_path(struct slice params, uint16_t tag, char *path);

/* command.c */
void command_begin(uint32_t id, struct slice params);
void command_cancel(uint32_t id);
bool command_reaped(int pid, int status);
bool commands_running(void);

#endif
