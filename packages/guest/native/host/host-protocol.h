/* Generated from packages/guest/src/host by renderHostHeader(); do not edit. */
#ifndef CAISSON_HOST_PROTOCOL_H
#define CAISSON_HOST_PROTOCOL_H

#include "../protocol.h"

#define CAISSON_HOST_REQUEST_MAX 262144
#define CAISSON_HOST_OUTPUT_MAX 98304
#define CAISSON_HOST_TASKS_MAX 256
#define CAISSON_HOST_OP_SPAWN 1
#define CAISSON_HOST_OP_CANCEL 2
#define CAISSON_HOST_OP_PING 3
#define CAISSON_HOST_OP_MOUNT 4
#define CAISSON_HOST_OP_UNMOUNT 5
#define CAISSON_HOST_OP_MOUNT_IDMAPPED 6
#define CAISSON_HOST_OP_SYNC 7
#define CAISSON_HOST_OP_SUBVOLUME_CREATE 8
#define CAISSON_HOST_OP_SUBVOLUME_DELETE 9
#define CAISSON_HOST_OP_SNAPSHOT 10
#define CAISSON_HOST_OP_QUOTA_ENABLE 11
#define CAISSON_HOST_OP_QUOTA_LIMIT 12
#define CAISSON_HOST_OP_USAGE 13
#define CAISSON_HOST_OP_MOUNT_OVERLAY 14
#define CAISSON_HOST_OP_MOUNT_DISK 15

#define CAISSON_TAG_HOST_FAILED_ERRNO 1
#define CAISSON_TAG_HOST_FAILED_STEP 2
static const struct caisson_field caisson_fields_host_failed[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 4095, NULL},
  {2, 4, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 256, NULL},
};
static const struct caisson_message caisson_message_host_failed = {"host_failed", caisson_fields_host_failed, 2};

#define CAISSON_TAG_HOST_SPAWN_ARGV 1
#define CAISSON_TAG_HOST_SPAWN_ENV 2
#define CAISSON_TAG_HOST_SPAWN_CWD 3
#define CAISSON_TAG_HOST_SPAWN_STDIN 4
#define CAISSON_TAG_HOST_SPAWN_STDOUT_PATH 5
#define CAISSON_TAG_HOST_SPAWN_STDERR_PATH 6
#define CAISSON_TAG_HOST_SPAWN_TIMEOUT_MS 7
#define CAISSON_TAG_HOST_SPAWN_WAIT 8
static const struct caisson_field caisson_fields_host_spawn[] = {
  {1, 5, CAISSON_REPEATED, 0, CAISSON_NAME, 4096, 0, 131071, NULL},
  {2, 5, CAISSON_REPEATED, 0, CAISSON_NAME, 4096, 2, 131071, NULL},
  {3, 5, CAISSON_OPTIONAL, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {4, 5, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 0, 65536, NULL},
  {5, 5, CAISSON_OPTIONAL, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {6, 5, CAISSON_OPTIONAL, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {7, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 1099511627776, NULL},
  {8, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
};
static const struct caisson_message caisson_message_host_spawn = {"host_spawn", caisson_fields_host_spawn, 8};

#define CAISSON_TAG_HOST_SPAWNED_PID 1
#define CAISSON_TAG_HOST_SPAWNED_CODE 2
#define CAISSON_TAG_HOST_SPAWNED_SIGNAL 3
#define CAISSON_TAG_HOST_SPAWNED_TIMED_OUT 4
#define CAISSON_TAG_HOST_SPAWNED_STDOUT 5
#define CAISSON_TAG_HOST_SPAWNED_STDERR 6
static const struct caisson_field caisson_fields_host_spawned[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 2147483648, NULL},
  {2, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 0, 255, NULL},
  {3, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 64, NULL},
  {4, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
  {5, 5, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 98304, NULL},
  {6, 5, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 98304, NULL},
};
static const struct caisson_message caisson_message_host_spawned = {"host_spawned", caisson_fields_host_spawned, 6};

#define CAISSON_TAG_HOST_CANCEL_ID 1
static const struct caisson_field caisson_fields_host_cancel[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 4294967295, NULL},
};
static const struct caisson_message caisson_message_host_cancel = {"host_cancel", caisson_fields_host_cancel, 1};

static const struct caisson_message caisson_message_host_done = {"host_done", NULL, 0};

#define CAISSON_TAG_HOST_MOUNT_SOURCE 1
#define CAISSON_TAG_HOST_MOUNT_TARGET 2
#define CAISSON_TAG_HOST_MOUNT_TYPE 3
#define CAISSON_TAG_HOST_MOUNT_FLAGS 4
#define CAISSON_TAG_HOST_MOUNT_DATA 5
static const struct caisson_field caisson_fields_host_mount[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 0, 4095, NULL},
  {2, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {3, 4, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 64, NULL},
  {4, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 4294967295, NULL},
  {5, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 0, 32768, NULL},
};
static const struct caisson_message caisson_message_host_mount = {"host_mount", caisson_fields_host_mount, 5};

#define CAISSON_TAG_HOST_UNMOUNT_TARGET 1
#define CAISSON_TAG_HOST_UNMOUNT_DETACH 2
#define CAISSON_TAG_HOST_UNMOUNT_LATER 3
static const struct caisson_field caisson_fields_host_unmount[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {2, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
  {3, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
};
static const struct caisson_message caisson_message_host_unmount = {"host_unmount", caisson_fields_host_unmount, 3};

#define CAISSON_TAG_HOST_MOUNT_IDMAPPED_SOURCE 1
#define CAISSON_TAG_HOST_MOUNT_IDMAPPED_TARGET 2
#define CAISSON_TAG_HOST_MOUNT_IDMAPPED_FIRST_ID 3
#define CAISSON_TAG_HOST_MOUNT_IDMAPPED_COUNT 4
#define CAISSON_TAG_HOST_MOUNT_IDMAPPED_READ_ONLY 5
static const struct caisson_field caisson_fields_host_mount_idmapped[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {2, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {3, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 4294967294, NULL},
  {4, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 4294967294, NULL},
  {5, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
};
static const struct caisson_message caisson_message_host_mount_idmapped = {"host_mount_idmapped", caisson_fields_host_mount_idmapped, 5};

#define CAISSON_TAG_HOST_PATH_PATH 1
static const struct caisson_field caisson_fields_host_path[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
};
static const struct caisson_message caisson_message_host_path = {"host_path", caisson_fields_host_path, 1};

#define CAISSON_TAG_HOST_SNAPSHOT_SOURCE 1
#define CAISSON_TAG_HOST_SNAPSHOT_TARGET 2
#define CAISSON_TAG_HOST_SNAPSHOT_READ_ONLY 3
static const struct caisson_field caisson_fields_host_snapshot[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {2, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {3, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
};
static const struct caisson_message caisson_message_host_snapshot = {"host_snapshot", caisson_fields_host_snapshot, 3};

#define CAISSON_TAG_HOST_QUOTA_LIMIT_PATH 1
#define CAISSON_TAG_HOST_QUOTA_LIMIT_BYTES 2
static const struct caisson_field caisson_fields_host_quota_limit[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {2, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
};
static const struct caisson_message caisson_message_host_quota_limit = {"host_quota_limit", caisson_fields_host_quota_limit, 2};

#define CAISSON_TAG_HOST_USAGE_BYTES 1
#define CAISSON_TAG_HOST_USAGE_LIMIT 2
static const struct caisson_field caisson_fields_host_usage[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {2, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
};
static const struct caisson_message caisson_message_host_usage = {"host_usage", caisson_fields_host_usage, 2};

#define CAISSON_TAG_HOST_MOUNT_OVERLAY_LAYERS 1
#define CAISSON_TAG_HOST_MOUNT_OVERLAY_CHANGES 2
#define CAISSON_TAG_HOST_MOUNT_OVERLAY_TARGET 3
#define CAISSON_TAG_HOST_MOUNT_OVERLAY_FIRST_ID 4
#define CAISSON_TAG_HOST_MOUNT_OVERLAY_COUNT 5
#define CAISSON_TAG_HOST_MOUNT_OVERLAY_BIND_SOURCES 6
#define CAISSON_TAG_HOST_MOUNT_OVERLAY_BIND_TARGETS 7
#define CAISSON_TAG_HOST_MOUNT_OVERLAY_IS_VOLATILE 8
static const struct caisson_field caisson_fields_host_mount_overlay[] = {
  {1, 5, CAISSON_REPEATED, 0, CAISSON_NAME, 128, 1, 4095, NULL},
  {2, 5, CAISSON_OPTIONAL, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {3, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {4, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 0, 4294967294, NULL},
  {5, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 4294967294, NULL},
  {6, 5, CAISSON_REPEATED, 0, CAISSON_NAME, 128, 1, 4095, NULL},
  {7, 5, CAISSON_REPEATED, 0, CAISSON_NAME, 128, 1, 4095, NULL},
  {8, 3, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
};
static const struct caisson_message caisson_message_host_mount_overlay = {"host_mount_overlay", caisson_fields_host_mount_overlay, 8};

#define CAISSON_TAG_HOST_MOUNT_DISK_FILE 1
#define CAISSON_TAG_HOST_MOUNT_DISK_TARGET 2
#define CAISSON_TAG_HOST_MOUNT_DISK_TYPE 3
#define CAISSON_TAG_HOST_MOUNT_DISK_DATA 4
static const struct caisson_field caisson_fields_host_mount_disk[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {2, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {3, 4, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 64, NULL},
  {4, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 0, 256, NULL},
};
static const struct caisson_message caisson_message_host_mount_disk = {"host_mount_disk", caisson_fields_host_mount_disk, 4};

#endif
