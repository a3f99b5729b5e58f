/* Generated from packages/guest/src/protocol by renderHeader(); do not edit. */
#ifndef CAISSON_PROTOCOL_H
#define CAISSON_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

#define CAISSON_LIMIT_VERSION_MIN 1
#define CAISSON_LIMIT_VERSION_MAX 1
#define CAISSON_LIMIT_HEADER_BYTES 12
#define CAISSON_LIMIT_FIELD_HEADER_BYTES 8
#define CAISSON_LIMIT_PAYLOAD_MAX 262144
#define CAISSON_LIMIT_HANDSHAKE_PAYLOAD_MAX 4096
#define CAISSON_LIMIT_DATA_ADVISED 65536
#define CAISSON_LIMIT_RECORD_MAX 65536
#define CAISSON_LIMIT_RESULT_MAX 131072
#define CAISSON_LIMIT_RESET_MAX 4096
#define CAISSON_LIMIT_WINDOW_MIN 65536
#define CAISSON_LIMIT_WINDOW_INITIAL 262144
#define CAISSON_LIMIT_WINDOW_MAX 16777216
#define CAISSON_LIMIT_CHANNELS_MAX 4096
#define CAISSON_LIMIT_CHANNEL_ID_MAX 2147483647
#define CAISSON_LIMIT_FIELDS_MAX 16384
#define CAISSON_LIMIT_PATH_MAX 4095
#define CAISSON_LIMIT_FILE_NAME_MAX 255
#define CAISSON_LIMIT_ARGUMENT_MAX 131071
#define CAISSON_LIMIT_ARGUMENTS_MAX 4096
#define CAISSON_LIMIT_PROCESSES_MAX 4096
#define CAISSON_LIMIT_RING_DEFAULT 1048576
#define CAISSON_LIMIT_RING_MIN 4096
#define CAISSON_LIMIT_RING_MAX 16777216
#define CAISSON_LIMIT_RING_TOTAL 67108864
#define CAISSON_LIMIT_HANDSHAKE_DEADLINE 5000
#define CAISSON_LIMIT_PING_AFTER 15000
#define CAISSON_LIMIT_DEAD_AFTER 45000
#define CAISSON_LIMIT_CHALLENGE_DEADLINE 5000
#define CAISSON_LIMIT_REDIAL_MIN 50
#define CAISSON_LIMIT_REDIAL_MAX 2000

#define CAISSON_FRAME_EXTENSION_BASE 0x80
#define CAISSON_FRAME_HELLO 0x01
#define CAISSON_FRAME_WELCOME 0x02
#define CAISSON_FRAME_REFUSE 0x03
#define CAISSON_FRAME_PING 0x04
#define CAISSON_FRAME_PONG 0x05
#define CAISSON_FRAME_GOAWAY 0x06
#define CAISSON_FRAME_OPEN 0x10
#define CAISSON_FRAME_RESULT 0x11
#define CAISSON_FRAME_DATA 0x12
#define CAISSON_FRAME_WINDOW 0x13
#define CAISSON_FRAME_END 0x14
#define CAISSON_FRAME_RESET 0x15

#define CAISSON_WIRE_UINT 1
#define CAISSON_WIRE_INT 2
#define CAISSON_WIRE_BOOL 3
#define CAISSON_WIRE_TEXT 4
#define CAISSON_WIRE_BYTES 5
#define CAISSON_WIRE_MESSAGE 6

#define CAISSON_ERROR_NOT_FOUND 1
#define CAISSON_ERROR_PERMISSION_DENIED 2
#define CAISSON_ERROR_ALREADY_EXISTS 3
#define CAISSON_ERROR_NOT_A_DIRECTORY 4
#define CAISSON_ERROR_IS_A_DIRECTORY 5
#define CAISSON_ERROR_NOT_EMPTY 6
#define CAISSON_ERROR_NO_SPACE 7
#define CAISSON_ERROR_QUOTA_EXCEEDED 8
#define CAISSON_ERROR_TOO_LARGE 9
#define CAISSON_ERROR_NAME_TOO_LONG 10
#define CAISSON_ERROR_TOO_MANY_LINKS 11
#define CAISSON_ERROR_READ_ONLY 12
#define CAISSON_ERROR_CROSS_DEVICE 13
#define CAISSON_ERROR_BUSY 14
#define CAISSON_ERROR_INVALID_ARGUMENT 15
#define CAISSON_ERROR_UNKNOWN_METHOD 16
#define CAISSON_ERROR_NOT_UNDERSTOOD 17
#define CAISSON_ERROR_NOT_SUPPORTED 18
#define CAISSON_ERROR_PROCESS_NOT_FOUND 19
#define CAISSON_ERROR_PROCESS_EXITED 20
#define CAISSON_ERROR_USER_NOT_FOUND 21
#define CAISSON_ERROR_NOT_EXECUTABLE 22
#define CAISSON_ERROR_CONNECTION_REFUSED 23
#define CAISSON_ERROR_TIMED_OUT 24
#define CAISSON_ERROR_CANCELLED 25
#define CAISSON_ERROR_LIMIT_REACHED 26
#define CAISSON_ERROR_OUT_OF_MEMORY 27
#define CAISSON_ERROR_DENIED 28
#define CAISSON_ERROR_SHUTTING_DOWN 29
#define CAISSON_ERROR_IO_ERROR 30

#define CAISSON_VIOLATION_FRAME_TOO_LARGE 1
#define CAISSON_VIOLATION_BAD_FRAME_LENGTH 2
#define CAISSON_VIOLATION_UNKNOWN_FRAME 3
#define CAISSON_VIOLATION_RESERVED_NOT_ZERO 4
#define CAISSON_VIOLATION_WRONG_SCOPE 5
#define CAISSON_VIOLATION_TRUNCATED 6
#define CAISSON_VIOLATION_WRONG_TYPE 7
#define CAISSON_VIOLATION_WRONG_LENGTH 8
#define CAISSON_VIOLATION_TOO_LONG 9
#define CAISSON_VIOLATION_OUT_OF_RANGE 10
#define CAISSON_VIOLATION_UNKNOWN_CHOICE 11
#define CAISSON_VIOLATION_INVALID_TEXT 12
#define CAISSON_VIOLATION_DUPLICATE_FIELD 13
#define CAISSON_VIOLATION_MISSING_FIELD 14
#define CAISSON_VIOLATION_TOO_MANY_ITEMS 15
#define CAISSON_VIOLATION_TOO_MANY_FIELDS 16
#define CAISSON_VIOLATION_UNKNOWN_CRITICAL_FIELD 17
#define CAISSON_VIOLATION_HANDSHAKE_ORDER 18
#define CAISSON_VIOLATION_HANDSHAKE_TIMEOUT 19
#define CAISSON_VIOLATION_VERSION_NOT_OFFERED 20
#define CAISSON_VIOLATION_BAD_CHANNEL_ID 21
#define CAISSON_VIOLATION_UNKNOWN_CHANNEL 22
#define CAISSON_VIOLATION_CHANNEL_CLOSED 23
#define CAISSON_VIOLATION_TOO_MANY_CHANNELS 24
#define CAISSON_VIOLATION_WRONG_OPENER 25
#define CAISSON_VIOLATION_NO_SUCH_STREAM 26
#define CAISSON_VIOLATION_AFTER_END 27
#define CAISSON_VIOLATION_AFTER_RESET 28
#define CAISSON_VIOLATION_RESULT_EXPECTED 29
#define CAISSON_VIOLATION_UNEXPECTED_RESULT 30
#define CAISSON_VIOLATION_WINDOW_EXCEEDED 31
#define CAISSON_VIOLATION_WINDOW_OVERFLOW 32
#define CAISSON_VIOLATION_UNEXPECTED_PONG 33

#define CAISSON_METHOD_PROCESS_SPAWN 0x0101
#define CAISSON_METHOD_PROCESS_ATTACH 0x0102
#define CAISSON_METHOD_PROCESS_STDIN 0x0103
#define CAISSON_METHOD_PROCESS_SIGNAL 0x0104
#define CAISSON_METHOD_PROCESS_RESIZE 0x0105
#define CAISSON_METHOD_PROCESS_WAIT 0x0106
#define CAISSON_METHOD_PROCESS_LIST 0x0107
#define CAISSON_METHOD_PROCESS_FORGET 0x0108
#define CAISSON_METHOD_FILE_STAT 0x0201
#define CAISSON_METHOD_FILE_LIST 0x0202
#define CAISSON_METHOD_FILE_READ 0x0203
#define CAISSON_METHOD_FILE_WRITE 0x0204
#define CAISSON_METHOD_FILE_MKDIR 0x0205
#define CAISSON_METHOD_FILE_MOVE 0x0206
#define CAISSON_METHOD_FILE_REMOVE 0x0207
#define CAISSON_METHOD_FILE_SYMLINK 0x0208
#define CAISSON_METHOD_FILE_CHMOD 0x0209
#define CAISSON_METHOD_FILE_CHOWN 0x020a
#define CAISSON_METHOD_FILE_XATTR_GET 0x020b
#define CAISSON_METHOD_FILE_XATTR_SET 0x020c
#define CAISSON_METHOD_FILE_XATTR_LIST 0x020d
#define CAISSON_METHOD_FILE_XATTR_REMOVE 0x020e
#define CAISSON_METHOD_FILE_GLOB 0x0211
#define CAISSON_METHOD_FILE_GREP 0x0212
#define CAISSON_METHOD_FILE_WATCH 0x0213
#define CAISSON_METHOD_FILE_TAR_OUT 0x0214
#define CAISSON_METHOD_FILE_TAR_IN 0x0215
#define CAISSON_METHOD_PORT_CONNECT 0x0301
#define CAISSON_METHOD_PORT_LIST 0x0302
#define CAISSON_METHOD_PORT_WAIT 0x0303
#define CAISSON_METHOD_PROXY_LISTEN 0x0401
#define CAISSON_METHOD_PROXY_CONNECT 0x0402
#define CAISSON_METHOD_SYS_INFO 0x0501
#define CAISSON_METHOD_SYS_STATS 0x0502
#define CAISSON_METHOD_SYS_SYNC 0x0503
#define CAISSON_METHOD_SYS_SHUTDOWN 0x0504

enum { CAISSON_REQUIRED = 0, CAISSON_OPTIONAL = 1, CAISSON_REPEATED = 2 };
enum { CAISSON_ALONE = 0, CAISSON_FIRST = 1, CAISSON_LAST = 2 };
enum { CAISSON_NONE = 0, CAISSON_BYTES = 1, CAISSON_RECORDS = 2 };

/* A name is bytes without NUL; a choice has every number from min to max. */
enum { CAISSON_PLAIN = 0, CAISSON_NAME = 1, CAISSON_CHOICE = 2 };
/* min and max bound the value of an integer and the length of anything else. */
struct caisson_message;
struct caisson_field {
  uint16_t tag;
  uint8_t wire, rule, critical, kind;
  uint32_t max_items;
  int64_t min, max;
  const struct caisson_message *message;
};
struct caisson_message {
  const char *name;
  const struct caisson_field *fields;
  size_t count;
};
struct caisson_method {
  uint16_t number;
  uint8_t guest_opens, input, output, answer;
  const struct caisson_message *params, *record, *result;
};

#define CAISSON_TAG_HELLO_MIN_VERSION 1
#define CAISSON_TAG_HELLO_MAX_VERSION 2
#define CAISSON_TAG_HELLO_GUEST_VERSION 3
#define CAISSON_TAG_HELLO_SANDBOX_ID 4
#define CAISSON_TAG_HELLO_INCARNATION 5
#define CAISSON_TAG_HELLO_BOOT_ID 6
#define CAISSON_TAG_HELLO_SECRET 7
#define CAISSON_TAG_HELLO_INITIAL_WINDOW 8
#define CAISSON_TAG_HELLO_MAX_CHANNELS 9
static const struct caisson_field caisson_fields_hello[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 65535, NULL},
  {2, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 65535, NULL},
  {3, 4, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 64, NULL},
  {4, 4, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {5, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 2147483648, NULL},
  {6, 5, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 16, 16, NULL},
  {7, 5, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 32, 32, NULL},
  {8, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 65536, 16777216, NULL},
  {9, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 4096, NULL},
};
static const struct caisson_message caisson_message_hello = {"hello", caisson_fields_hello, 9};

#define CAISSON_TAG_WELCOME_VERSION 1
#define CAISSON_TAG_WELCOME_NEXT_SECRET 2
#define CAISSON_TAG_WELCOME_INITIAL_WINDOW 3
#define CAISSON_TAG_WELCOME_MAX_CHANNELS 4
static const struct caisson_field caisson_fields_welcome[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 65535, NULL},
  {2, 5, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 32, 32, NULL},
  {3, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 65536, 16777216, NULL},
  {4, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 4096, NULL},
};
static const struct caisson_message caisson_message_welcome = {"welcome", caisson_fields_welcome, 4};

#define CAISSON_TAG_REFUSE_REASON 1
#define CAISSON_REFUSE_REASON_AUTH_FAILED 1
#define CAISSON_REFUSE_REASON_WRONG_SANDBOX 2
#define CAISSON_REFUSE_REASON_STALE_INCARNATION 3
#define CAISSON_REFUSE_REASON_NO_COMMON_VERSION 4
#define CAISSON_REFUSE_REASON_ALREADY_CONNECTED 5
#define CAISSON_REFUSE_REASON_SHUTTING_DOWN 6
#define CAISSON_TAG_REFUSE_MESSAGE 2
static const struct caisson_field caisson_fields_refuse[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_CHOICE, 1, 1, 6, NULL},
  {2, 4, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1024, NULL},
};
static const struct caisson_message caisson_message_refuse = {"refuse", caisson_fields_refuse, 2};

#define CAISSON_TAG_GOAWAY_REASON 1
#define CAISSON_GOAWAY_REASON_SHUTDOWN 1
#define CAISSON_GOAWAY_REASON_PROTOCOL_ERROR 2
#define CAISSON_GOAWAY_REASON_IDS_EXHAUSTED 3
#define CAISSON_GOAWAY_REASON_REPLACED 4
#define CAISSON_GOAWAY_REASON_SANDBOX_ENDS 5
#define CAISSON_TAG_GOAWAY_MESSAGE 2
static const struct caisson_field caisson_fields_goaway[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_CHOICE, 1, 1, 5, NULL},
  {2, 4, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1024, NULL},
};
static const struct caisson_message caisson_message_goaway = {"goaway", caisson_fields_goaway, 2};

#define CAISSON_TAG_OPEN_METHOD 1
#define CAISSON_TAG_OPEN_INPUT 2
#define CAISSON_TAG_OPEN_WINDOW 3
#define CAISSON_TAG_OPEN_PARAMS 4
static const struct caisson_field caisson_fields_open[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 65535, NULL},
  {2, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
  {3, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 65536, 16777216, NULL},
  {4, 5, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 262016, NULL},
};
static const struct caisson_message caisson_message_open = {"open", caisson_fields_open, 4};

#define CAISSON_TAG_RESET_CODE 1
#define CAISSON_TAG_RESET_MESSAGE 2
#define CAISSON_TAG_RESET_ERRNO 3
static const struct caisson_field caisson_fields_reset[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_CHOICE, 1, 1, 30, NULL},
  {2, 4, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1024, NULL},
  {3, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 4095, NULL},
};
static const struct caisson_message caisson_message_reset = {"reset", caisson_fields_reset, 3};

#define CAISSON_TAG_PTY_SIZE_ROWS 1
#define CAISSON_TAG_PTY_SIZE_COLUMNS 2
static const struct caisson_field caisson_fields_pty_size[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 65535, NULL},
  {2, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 65535, NULL},
};
static const struct caisson_message caisson_message_pty_size = {"pty_size", caisson_fields_pty_size, 2};

#define CAISSON_TAG_PROCESS_SPAWN_ID 1
#define CAISSON_TAG_PROCESS_SPAWN_ARGV 2
#define CAISSON_TAG_PROCESS_SPAWN_ENV 3
#define CAISSON_TAG_PROCESS_SPAWN_INHERIT_ENV 4
#define CAISSON_TAG_PROCESS_SPAWN_CWD 5
#define CAISSON_TAG_PROCESS_SPAWN_USER 6
#define CAISSON_TAG_PROCESS_SPAWN_PTY 7
#define CAISSON_TAG_PROCESS_SPAWN_STDIN 8
#define CAISSON_TAG_PROCESS_SPAWN_TAGS 9
#define CAISSON_TAG_PROCESS_SPAWN_TIMEOUT_MS 10
#define CAISSON_TAG_PROCESS_SPAWN_GRACE_MS 11
#define CAISSON_TAG_PROCESS_SPAWN_RING_BYTES 12
#define CAISSON_TAG_PROCESS_SPAWN_WHEN_DETACHED 13
#define CAISSON_PROCESS_SPAWN_WHEN_DETACHED_WAIT 1
#define CAISSON_PROCESS_SPAWN_WHEN_DETACHED_DROP 2
static const struct caisson_field caisson_fields_process_spawn[] = {
  {1, 4, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {2, 5, CAISSON_REPEATED, 0, CAISSON_NAME, 4096, 0, 131071, NULL},
  {3, 5, CAISSON_REPEATED, 0, CAISSON_NAME, 4096, 2, 131071, NULL},
  {4, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
  {5, 5, CAISSON_OPTIONAL, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {6, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {7, 6, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 0, 64, &caisson_message_pty_size},
  {8, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
  {9, 4, CAISSON_REPEATED, 0, CAISSON_PLAIN, 16, 0, 64, NULL},
  {10, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 1099511627776, NULL},
  {11, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 0, 600000, NULL},
  {12, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 4096, 16777216, NULL},
  {13, 1, CAISSON_REQUIRED, 0, CAISSON_CHOICE, 1, 1, 2, NULL},
};
static const struct caisson_message caisson_message_process_spawn = {"process_spawn", caisson_fields_process_spawn, 13};

#define CAISSON_TAG_PROCESS_SPAWNED_PID 1
#define CAISSON_TAG_PROCESS_SPAWNED_STARTED_AT 2
#define CAISSON_TAG_PROCESS_SPAWNED_EXISTED 3
static const struct caisson_field caisson_fields_process_spawned[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 2147483648, NULL},
  {2, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {3, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
};
static const struct caisson_message caisson_message_process_spawned = {"process_spawned", caisson_fields_process_spawned, 3};

#define CAISSON_TAG_PROCESS_ATTACH_ID 1
#define CAISSON_TAG_PROCESS_ATTACH_STREAM 2
#define CAISSON_PROCESS_ATTACH_STREAM_STDOUT 1
#define CAISSON_PROCESS_ATTACH_STREAM_STDERR 2
#define CAISSON_TAG_PROCESS_ATTACH_FROM 3
static const struct caisson_field caisson_fields_process_attach[] = {
  {1, 4, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {2, 1, CAISSON_REQUIRED, 0, CAISSON_CHOICE, 1, 1, 2, NULL},
  {3, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
};
static const struct caisson_message caisson_message_process_attach = {"process_attach", caisson_fields_process_attach, 3};

#define CAISSON_TAG_PROCESS_ATTACHED_AT 1
#define CAISSON_TAG_PROCESS_ATTACHED_LOST 2
static const struct caisson_field caisson_fields_process_attached[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {2, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
};
static const struct caisson_message caisson_message_process_attached = {"process_attached", caisson_fields_process_attached, 2};

#define CAISSON_TAG_PROCESS_STDIN_ID 1
#define CAISSON_TAG_PROCESS_STDIN_OFFSET 2
static const struct caisson_field caisson_fields_process_stdin[] = {
  {1, 4, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {2, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
};
static const struct caisson_message caisson_message_process_stdin = {"process_stdin", caisson_fields_process_stdin, 2};

#define CAISSON_TAG_PROCESS_STDIN_DONE_WRITTEN 1
#define CAISSON_TAG_PROCESS_STDIN_DONE_CLOSED 2
static const struct caisson_field caisson_fields_process_stdin_done[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {2, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
};
static const struct caisson_message caisson_message_process_stdin_done = {"process_stdin_done", caisson_fields_process_stdin_done, 2};

#define CAISSON_TAG_PROCESS_SIGNAL_ID 1
#define CAISSON_TAG_PROCESS_SIGNAL_SIGNAL 2
#define CAISSON_TAG_PROCESS_SIGNAL_TARGET 3
#define CAISSON_PROCESS_SIGNAL_TARGET_GROUP 1
#define CAISSON_PROCESS_SIGNAL_TARGET_PROCESS 2
#define CAISSON_TAG_PROCESS_SIGNAL_SEQUENCE 4
static const struct caisson_field caisson_fields_process_signal[] = {
  {1, 4, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {2, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 64, NULL},
  {3, 1, CAISSON_REQUIRED, 0, CAISSON_CHOICE, 1, 1, 2, NULL},
  {4, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 9007199254740991, NULL},
};
static const struct caisson_message caisson_message_process_signal = {"process_signal", caisson_fields_process_signal, 4};

static const struct caisson_message caisson_message_nothing = {"nothing", NULL, 0};

#define CAISSON_TAG_PROCESS_RESIZE_ID 1
#define CAISSON_TAG_PROCESS_RESIZE_SIZE 2
static const struct caisson_field caisson_fields_process_resize[] = {
  {1, 4, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {2, 6, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 64, &caisson_message_pty_size},
};
static const struct caisson_message caisson_message_process_resize = {"process_resize", caisson_fields_process_resize, 2};

#define CAISSON_TAG_PROCESS_WAIT_ID 1
static const struct caisson_field caisson_fields_process_wait[] = {
  {1, 4, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
};
static const struct caisson_message caisson_message_process_wait = {"process_wait", caisson_fields_process_wait, 1};

#define CAISSON_TAG_EXIT_STATUS_WHY 1
#define CAISSON_EXIT_STATUS_WHY_EXITED 1
#define CAISSON_EXIT_STATUS_WHY_SIGNALLED 2
#define CAISSON_EXIT_STATUS_WHY_TIMED_OUT 3
#define CAISSON_EXIT_STATUS_WHY_OUT_OF_MEMORY 4
#define CAISSON_EXIT_STATUS_WHY_KILLED_WITH_SANDBOX 5
#define CAISSON_TAG_EXIT_STATUS_CODE 2
#define CAISSON_TAG_EXIT_STATUS_SIGNAL 3
#define CAISSON_TAG_EXIT_STATUS_ENDED_AT 4
#define CAISSON_TAG_EXIT_STATUS_STDOUT_BYTES 5
#define CAISSON_TAG_EXIT_STATUS_STDERR_BYTES 6
#define CAISSON_TAG_EXIT_STATUS_CPU_MILLISECONDS 7
#define CAISSON_TAG_EXIT_STATUS_MAX_RSS_KI_B 8
static const struct caisson_field caisson_fields_exit_status[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_CHOICE, 1, 1, 5, NULL},
  {2, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 0, 255, NULL},
  {3, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 64, NULL},
  {4, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {5, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {6, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {7, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {8, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
};
static const struct caisson_message caisson_message_exit_status = {"exit_status", caisson_fields_exit_status, 8};

#define CAISSON_TAG_PROCESS_LIST_ID 1
#define CAISSON_TAG_PROCESS_LIST_TAG 2
static const struct caisson_field caisson_fields_process_list[] = {
  {1, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {2, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 64, NULL},
};
static const struct caisson_message caisson_message_process_list = {"process_list", caisson_fields_process_list, 2};

#define CAISSON_TAG_PROCESS_INFO_ID 1
#define CAISSON_TAG_PROCESS_INFO_PID 2
#define CAISSON_TAG_PROCESS_INFO_COMMAND 3
#define CAISSON_TAG_PROCESS_INFO_USER 4
#define CAISSON_TAG_PROCESS_INFO_TAGS 5
#define CAISSON_TAG_PROCESS_INFO_PTY 6
#define CAISSON_TAG_PROCESS_INFO_STARTED_AT 7
#define CAISSON_TAG_PROCESS_INFO_STDOUT_BYTES 8
#define CAISSON_TAG_PROCESS_INFO_STDERR_BYTES 9
#define CAISSON_TAG_PROCESS_INFO_STDIN_BYTES 10
#define CAISSON_TAG_PROCESS_INFO_EXIT 11
#define CAISSON_TAG_PROCESS_INFO_SIGNAL_SEQUENCE 12
static const struct caisson_field caisson_fields_process_info[] = {
  {1, 4, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {2, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 2147483648, NULL},
  {3, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 0, 1024, NULL},
  {4, 4, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 32, NULL},
  {5, 4, CAISSON_REPEATED, 0, CAISSON_PLAIN, 16, 0, 64, NULL},
  {6, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
  {7, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {8, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {9, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {10, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {11, 6, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 0, 256, &caisson_message_exit_status},
  {12, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
};
static const struct caisson_message caisson_message_process_info = {"process_info", caisson_fields_process_info, 12};

#define CAISSON_TAG_PROCESS_BATCH_PROCESSES 1
static const struct caisson_field caisson_fields_process_batch[] = {
  {1, 6, CAISSON_REPEATED, 0, CAISSON_PLAIN, 256, 0, 4096, &caisson_message_process_info},
};
static const struct caisson_message caisson_message_process_batch = {"process_batch", caisson_fields_process_batch, 1};

#define CAISSON_TAG_PROCESS_FORGET_ID 1
static const struct caisson_field caisson_fields_process_forget[] = {
  {1, 4, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
};
static const struct caisson_message caisson_message_process_forget = {"process_forget", caisson_fields_process_forget, 1};

#define CAISSON_TAG_FILE_STAT_PATH 1
#define CAISSON_TAG_FILE_STAT_USER 2
#define CAISSON_TAG_FILE_STAT_FOLLOW 3
static const struct caisson_field caisson_fields_file_stat[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {2, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {3, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
};
static const struct caisson_message caisson_message_file_stat = {"file_stat", caisson_fields_file_stat, 3};

#define CAISSON_TAG_ENTRY_PATH 1
#define CAISSON_TAG_ENTRY_KIND 2
#define CAISSON_ENTRY_KIND_FILE 1
#define CAISSON_ENTRY_KIND_DIRECTORY 2
#define CAISSON_ENTRY_KIND_SYMLINK 3
#define CAISSON_ENTRY_KIND_FIFO 4
#define CAISSON_ENTRY_KIND_SOCKET 5
#define CAISSON_ENTRY_KIND_CHARACTER_DEVICE 6
#define CAISSON_ENTRY_KIND_BLOCK_DEVICE 7
#define CAISSON_TAG_ENTRY_SIZE 3
#define CAISSON_TAG_ENTRY_MODE 4
#define CAISSON_TAG_ENTRY_UID 5
#define CAISSON_TAG_ENTRY_GID 6
#define CAISSON_TAG_ENTRY_OWNER 7
#define CAISSON_TAG_ENTRY_GROUP 8
#define CAISSON_TAG_ENTRY_MTIME_SECONDS 9
#define CAISSON_TAG_ENTRY_MTIME_NANOSECONDS 10
#define CAISSON_TAG_ENTRY_TARGET 11
static const struct caisson_field caisson_fields_entry[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 0, 4095, NULL},
  {2, 1, CAISSON_REQUIRED, 0, CAISSON_CHOICE, 1, 1, 7, NULL},
  {3, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {4, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 4095, NULL},
  {5, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 4294967294, NULL},
  {6, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 4294967294, NULL},
  {7, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 0, 32, NULL},
  {8, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 0, 32, NULL},
  {9, 2, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, -1099511627776, 1099511627776, NULL},
  {10, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 999999999, NULL},
  {11, 5, CAISSON_OPTIONAL, 0, CAISSON_NAME, 1, 0, 4095, NULL},
};
static const struct caisson_message caisson_message_entry = {"entry", caisson_fields_entry, 11};

#define CAISSON_TAG_ENTRY_RESULT_ENTRY 1
static const struct caisson_field caisson_fields_entry_result[] = {
  {1, 6, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9216, &caisson_message_entry},
};
static const struct caisson_message caisson_message_entry_result = {"entry_result", caisson_fields_entry_result, 1};

#define CAISSON_TAG_FILE_LIST_PATH 1
#define CAISSON_TAG_FILE_LIST_USER 2
#define CAISSON_TAG_FILE_LIST_DEPTH 3
#define CAISSON_TAG_FILE_LIST_MAX_ENTRIES 4
static const struct caisson_field caisson_fields_file_list[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {2, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {3, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 64, NULL},
  {4, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 1000000, NULL},
};
static const struct caisson_message caisson_message_file_list = {"file_list", caisson_fields_file_list, 4};

#define CAISSON_TAG_ENTRY_BATCH_ENTRIES 1
static const struct caisson_field caisson_fields_entry_batch[] = {
  {1, 6, CAISSON_REPEATED, 0, CAISSON_PLAIN, 1024, 0, 9216, &caisson_message_entry},
};
static const struct caisson_message caisson_message_entry_batch = {"entry_batch", caisson_fields_entry_batch, 1};

#define CAISSON_TAG_CUT_COUNT 1
#define CAISSON_TAG_CUT_TRUNCATED 2
static const struct caisson_field caisson_fields_cut[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 10000000, NULL},
  {2, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
};
static const struct caisson_message caisson_message_cut = {"cut", caisson_fields_cut, 2};

#define CAISSON_TAG_FILE_READ_PATH 1
#define CAISSON_TAG_FILE_READ_USER 2
#define CAISSON_TAG_FILE_READ_OFFSET 3
#define CAISSON_TAG_FILE_READ_LENGTH 4
static const struct caisson_field caisson_fields_file_read[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {2, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {3, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {4, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
};
static const struct caisson_message caisson_message_file_read = {"file_read", caisson_fields_file_read, 4};

#define CAISSON_TAG_FILE_WRITE_PATH 1
#define CAISSON_TAG_FILE_WRITE_USER 2
#define CAISSON_TAG_FILE_WRITE_HOW 3
#define CAISSON_FILE_WRITE_HOW_REPLACE 1
#define CAISSON_FILE_WRITE_HOW_CREATE 2
#define CAISSON_FILE_WRITE_HOW_RANGE 3
#define CAISSON_TAG_FILE_WRITE_OFFSET 4
#define CAISSON_TAG_FILE_WRITE_MODE 5
#define CAISSON_TAG_FILE_WRITE_UID 6
#define CAISSON_TAG_FILE_WRITE_GID 7
#define CAISSON_TAG_FILE_WRITE_PARENTS 8
#define CAISSON_TAG_FILE_WRITE_SYNC 9
static const struct caisson_field caisson_fields_file_write[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {2, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {3, 1, CAISSON_REQUIRED, 0, CAISSON_CHOICE, 1, 1, 3, NULL},
  {4, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {5, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 0, 4095, NULL},
  {6, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 0, 4294967294, NULL},
  {7, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 0, 4294967294, NULL},
  {8, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
  {9, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
};
static const struct caisson_message caisson_message_file_write = {"file_write", caisson_fields_file_write, 9};

#define CAISSON_TAG_FILE_MKDIR_PATH 1
#define CAISSON_TAG_FILE_MKDIR_USER 2
#define CAISSON_TAG_FILE_MKDIR_PARENTS 3
#define CAISSON_TAG_FILE_MKDIR_MODE 4
static const struct caisson_field caisson_fields_file_mkdir[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {2, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {3, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
  {4, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 0, 4095, NULL},
};
static const struct caisson_message caisson_message_file_mkdir = {"file_mkdir", caisson_fields_file_mkdir, 4};

#define CAISSON_TAG_FILE_MADE_CREATED 1
static const struct caisson_field caisson_fields_file_made[] = {
  {1, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
};
static const struct caisson_message caisson_message_file_made = {"file_made", caisson_fields_file_made, 1};

#define CAISSON_TAG_FILE_MOVE_FROM 1
#define CAISSON_TAG_FILE_MOVE_TO 2
#define CAISSON_TAG_FILE_MOVE_USER 3
#define CAISSON_TAG_FILE_MOVE_REPLACE 4
static const struct caisson_field caisson_fields_file_move[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {2, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {3, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {4, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
};
static const struct caisson_message caisson_message_file_move = {"file_move", caisson_fields_file_move, 4};

#define CAISSON_TAG_FILE_REMOVE_PATH 1
#define CAISSON_TAG_FILE_REMOVE_USER 2
#define CAISSON_TAG_FILE_REMOVE_RECURSIVE 3
#define CAISSON_TAG_FILE_REMOVE_MISSING_OK 4
static const struct caisson_field caisson_fields_file_remove[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {2, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {3, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
  {4, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
};
static const struct caisson_message caisson_message_file_remove = {"file_remove", caisson_fields_file_remove, 4};

#define CAISSON_TAG_FILE_SYMLINK_PATH 1
#define CAISSON_TAG_FILE_SYMLINK_TARGET 2
#define CAISSON_TAG_FILE_SYMLINK_USER 3
#define CAISSON_TAG_FILE_SYMLINK_REPLACE 4
static const struct caisson_field caisson_fields_file_symlink[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {2, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {3, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {4, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
};
static const struct caisson_message caisson_message_file_symlink = {"file_symlink", caisson_fields_file_symlink, 4};

#define CAISSON_TAG_FILE_CHMOD_PATH 1
#define CAISSON_TAG_FILE_CHMOD_USER 2
#define CAISSON_TAG_FILE_CHMOD_MODE 3
#define CAISSON_TAG_FILE_CHMOD_RECURSIVE 4
static const struct caisson_field caisson_fields_file_chmod[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {2, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {3, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 4095, NULL},
  {4, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
};
static const struct caisson_message caisson_message_file_chmod = {"file_chmod", caisson_fields_file_chmod, 4};

#define CAISSON_TAG_FILE_CHOWN_PATH 1
#define CAISSON_TAG_FILE_CHOWN_USER 2
#define CAISSON_TAG_FILE_CHOWN_UID 3
#define CAISSON_TAG_FILE_CHOWN_GID 4
#define CAISSON_TAG_FILE_CHOWN_RECURSIVE 5
static const struct caisson_field caisson_fields_file_chown[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {2, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {3, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 0, 4294967294, NULL},
  {4, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 0, 4294967294, NULL},
  {5, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
};
static const struct caisson_message caisson_message_file_chown = {"file_chown", caisson_fields_file_chown, 5};

#define CAISSON_TAG_FILE_XATTR_GET_PATH 1
#define CAISSON_TAG_FILE_XATTR_GET_USER 2
#define CAISSON_TAG_FILE_XATTR_GET_NAME 3
static const struct caisson_field caisson_fields_file_xattr_get[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {2, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {3, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 255, NULL},
};
static const struct caisson_message caisson_message_file_xattr_get = {"file_xattr_get", caisson_fields_file_xattr_get, 3};

#define CAISSON_TAG_FILE_XATTR_VALUE 1
static const struct caisson_field caisson_fields_file_xattr[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 65536, NULL},
};
static const struct caisson_message caisson_message_file_xattr = {"file_xattr", caisson_fields_file_xattr, 1};

#define CAISSON_TAG_FILE_XATTR_SET_PATH 1
#define CAISSON_TAG_FILE_XATTR_SET_USER 2
#define CAISSON_TAG_FILE_XATTR_SET_NAME 3
#define CAISSON_TAG_FILE_XATTR_SET_VALUE 4
static const struct caisson_field caisson_fields_file_xattr_set[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {2, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {3, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 255, NULL},
  {4, 5, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 65536, NULL},
};
static const struct caisson_message caisson_message_file_xattr_set = {"file_xattr_set", caisson_fields_file_xattr_set, 4};

#define CAISSON_TAG_FILE_XATTR_LIST_PATH 1
#define CAISSON_TAG_FILE_XATTR_LIST_USER 2
static const struct caisson_field caisson_fields_file_xattr_list[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {2, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
};
static const struct caisson_message caisson_message_file_xattr_list = {"file_xattr_list", caisson_fields_file_xattr_list, 2};

#define CAISSON_TAG_FILE_XATTRS_NAMES 1
static const struct caisson_field caisson_fields_file_xattrs[] = {
  {1, 5, CAISSON_REPEATED, 0, CAISSON_NAME, 1024, 1, 255, NULL},
};
static const struct caisson_message caisson_message_file_xattrs = {"file_xattrs", caisson_fields_file_xattrs, 1};

#define CAISSON_TAG_FILE_XATTR_REMOVE_PATH 1
#define CAISSON_TAG_FILE_XATTR_REMOVE_USER 2
#define CAISSON_TAG_FILE_XATTR_REMOVE_NAME 3
static const struct caisson_field caisson_fields_file_xattr_remove[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {2, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {3, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 255, NULL},
};
static const struct caisson_message caisson_message_file_xattr_remove = {"file_xattr_remove", caisson_fields_file_xattr_remove, 3};

#define CAISSON_TAG_FILE_GLOB_PATH 1
#define CAISSON_TAG_FILE_GLOB_USER 2
#define CAISSON_TAG_FILE_GLOB_PATTERN 3
#define CAISSON_TAG_FILE_GLOB_IGNORE_FILES 4
#define CAISSON_TAG_FILE_GLOB_HIDDEN 5
#define CAISSON_TAG_FILE_GLOB_MAX_ENTRIES 6
static const struct caisson_field caisson_fields_file_glob[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {2, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {3, 4, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 1024, NULL},
  {4, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
  {5, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
  {6, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 1000000, NULL},
};
static const struct caisson_message caisson_message_file_glob = {"file_glob", caisson_fields_file_glob, 6};

#define CAISSON_TAG_FILE_GREP_PATH 1
#define CAISSON_TAG_FILE_GREP_USER 2
#define CAISSON_TAG_FILE_GREP_PATTERN 3
#define CAISSON_TAG_FILE_GREP_SYNTAX 4
#define CAISSON_FILE_GREP_SYNTAX_LITERAL 1
#define CAISSON_FILE_GREP_SYNTAX_EXTENDED 2
#define CAISSON_TAG_FILE_GREP_IGNORE_CASE 5
#define CAISSON_TAG_FILE_GREP_INCLUDE 6
#define CAISSON_TAG_FILE_GREP_EXCLUDE 7
#define CAISSON_TAG_FILE_GREP_IGNORE_FILES 8
#define CAISSON_TAG_FILE_GREP_HIDDEN 9
#define CAISSON_TAG_FILE_GREP_CONTEXT_LINES 10
#define CAISSON_TAG_FILE_GREP_MAX_MATCHES 11
#define CAISSON_TAG_FILE_GREP_MAX_MATCHES_PER_FILE 12
#define CAISSON_TAG_FILE_GREP_MAX_FILE_BYTES 13
static const struct caisson_field caisson_fields_file_grep[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {2, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {3, 4, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 4096, NULL},
  {4, 1, CAISSON_REQUIRED, 0, CAISSON_CHOICE, 1, 1, 2, NULL},
  {5, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
  {6, 4, CAISSON_REPEATED, 0, CAISSON_PLAIN, 256, 1, 1024, NULL},
  {7, 4, CAISSON_REPEATED, 0, CAISSON_PLAIN, 256, 1, 1024, NULL},
  {8, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
  {9, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
  {10, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 16, NULL},
  {11, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 1000000, NULL},
  {12, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 1000000, NULL},
  {13, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
};
static const struct caisson_message caisson_message_file_grep = {"file_grep", caisson_fields_file_grep, 13};

#define CAISSON_TAG_GREP_MATCH_PATH 1
#define CAISSON_TAG_GREP_MATCH_LINE 2
#define CAISSON_TAG_GREP_MATCH_TEXT 3
#define CAISSON_TAG_GREP_MATCH_START 4
#define CAISSON_TAG_GREP_MATCH_END 5
#define CAISSON_TAG_GREP_MATCH_BEFORE 6
#define CAISSON_TAG_GREP_MATCH_AFTER 7
static const struct caisson_field caisson_fields_grep_match[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 0, 4095, NULL},
  {2, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 9007199254740991, NULL},
  {3, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 0, 4096, NULL},
  {4, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {5, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {6, 5, CAISSON_REPEATED, 0, CAISSON_NAME, 16, 0, 1024, NULL},
  {7, 5, CAISSON_REPEATED, 0, CAISSON_NAME, 16, 0, 1024, NULL},
};
static const struct caisson_message caisson_message_grep_match = {"grep_match", caisson_fields_grep_match, 7};

#define CAISSON_TAG_GREP_BATCH_MATCHES 1
static const struct caisson_field caisson_fields_grep_batch[] = {
  {1, 6, CAISSON_REPEATED, 0, CAISSON_PLAIN, 1024, 0, 49152, &caisson_message_grep_match},
};
static const struct caisson_message caisson_message_grep_batch = {"grep_batch", caisson_fields_grep_batch, 1};

#define CAISSON_TAG_GREP_DONE_MATCHES 1
#define CAISSON_TAG_GREP_DONE_FILES_SEARCHED 2
#define CAISSON_TAG_GREP_DONE_FILES_SKIPPED 3
#define CAISSON_TAG_GREP_DONE_TRUNCATED 4
static const struct caisson_field caisson_fields_grep_done[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 10000000, NULL},
  {2, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 10000000, NULL},
  {3, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 10000000, NULL},
  {4, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
};
static const struct caisson_message caisson_message_grep_done = {"grep_done", caisson_fields_grep_done, 4};

#define CAISSON_TAG_FILE_WATCH_PATH 1
#define CAISSON_TAG_FILE_WATCH_USER 2
#define CAISSON_TAG_FILE_WATCH_RECURSIVE 3
static const struct caisson_field caisson_fields_file_watch[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {2, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {3, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
};
static const struct caisson_message caisson_message_file_watch = {"file_watch", caisson_fields_file_watch, 3};

#define CAISSON_TAG_WATCH_EVENT_KIND 1
#define CAISSON_WATCH_EVENT_KIND_CREATE 1
#define CAISSON_WATCH_EVENT_KIND_WRITE 2
#define CAISSON_WATCH_EVENT_KIND_REMOVE 3
#define CAISSON_WATCH_EVENT_KIND_RENAME 4
#define CAISSON_WATCH_EVENT_KIND_CHMOD 5
#define CAISSON_TAG_WATCH_EVENT_PATH 2
#define CAISSON_TAG_WATCH_EVENT_RENAMED_TO 3
#define CAISSON_TAG_WATCH_EVENT_DIRECTORY 4
static const struct caisson_field caisson_fields_watch_event[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_CHOICE, 1, 1, 5, NULL},
  {2, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 0, 4095, NULL},
  {3, 5, CAISSON_OPTIONAL, 0, CAISSON_NAME, 1, 0, 4095, NULL},
  {4, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
};
static const struct caisson_message caisson_message_watch_event = {"watch_event", caisson_fields_watch_event, 4};

#define CAISSON_TAG_WATCH_BATCH_EVENTS 1
#define CAISSON_TAG_WATCH_BATCH_OVERFLOW 2
static const struct caisson_field caisson_fields_watch_batch[] = {
  {1, 6, CAISSON_REPEATED, 0, CAISSON_PLAIN, 1024, 0, 9216, &caisson_message_watch_event},
  {2, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
};
static const struct caisson_message caisson_message_watch_batch = {"watch_batch", caisson_fields_watch_batch, 2};

#define CAISSON_TAG_FILE_TAR_OUT_PATH 1
#define CAISSON_TAG_FILE_TAR_OUT_USER 2
#define CAISSON_TAG_FILE_TAR_OUT_EXCLUDE 3
static const struct caisson_field caisson_fields_file_tar_out[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {2, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {3, 4, CAISSON_REPEATED, 0, CAISSON_PLAIN, 256, 1, 1024, NULL},
};
static const struct caisson_message caisson_message_file_tar_out = {"file_tar_out", caisson_fields_file_tar_out, 3};

#define CAISSON_TAG_ARCHIVED_ENTRIES 1
#define CAISSON_TAG_ARCHIVED_BYTES 2
static const struct caisson_field caisson_fields_archived[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 10000000, NULL},
  {2, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
};
static const struct caisson_message caisson_message_archived = {"archived", caisson_fields_archived, 2};

#define CAISSON_TAG_FILE_TAR_IN_PATH 1
#define CAISSON_TAG_FILE_TAR_IN_USER 2
#define CAISSON_TAG_FILE_TAR_IN_KEEP_OWNER 3
static const struct caisson_field caisson_fields_file_tar_in[] = {
  {1, 5, CAISSON_REQUIRED, 0, CAISSON_NAME, 1, 1, 4095, NULL},
  {2, 4, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 32, NULL},
  {3, 3, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 1, NULL},
};
static const struct caisson_message caisson_message_file_tar_in = {"file_tar_in", caisson_fields_file_tar_in, 3};

#define CAISSON_TAG_PORT_CONNECT_PORT 1
#define CAISSON_TAG_PORT_CONNECT_PATH 2
#define CAISSON_TAG_PORT_CONNECT_TIMEOUT_MS 3
static const struct caisson_field caisson_fields_port_connect[] = {
  {1, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 65535, NULL},
  {2, 5, CAISSON_OPTIONAL, 0, CAISSON_NAME, 1, 1, 107, NULL},
  {3, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 600000, NULL},
};
static const struct caisson_message caisson_message_port_connect = {"port_connect", caisson_fields_port_connect, 3};

static const struct caisson_message caisson_message_port_list = {"port_list", NULL, 0};

#define CAISSON_TAG_LISTENING_PORT_PORT 1
#define CAISSON_TAG_LISTENING_PORT_ADDRESS 2
#define CAISSON_TAG_LISTENING_PORT_PID 3
#define CAISSON_TAG_LISTENING_PORT_UID 4
static const struct caisson_field caisson_fields_listening_port[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 65535, NULL},
  {2, 4, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 64, NULL},
  {3, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 1, 2147483648, NULL},
  {4, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 4294967295, NULL},
};
static const struct caisson_message caisson_message_listening_port = {"listening_port", caisson_fields_listening_port, 4};

#define CAISSON_TAG_PORT_BATCH_PORTS 1
static const struct caisson_field caisson_fields_port_batch[] = {
  {1, 6, CAISSON_REPEATED, 0, CAISSON_PLAIN, 256, 0, 256, &caisson_message_listening_port},
};
static const struct caisson_message caisson_message_port_batch = {"port_batch", caisson_fields_port_batch, 1};

#define CAISSON_TAG_PORT_WAIT_PORT 1
#define CAISSON_TAG_PORT_WAIT_TIMEOUT_MS 2
static const struct caisson_field caisson_fields_port_wait[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 65535, NULL},
  {2, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 86400000, NULL},
};
static const struct caisson_message caisson_message_port_wait = {"port_wait", caisson_fields_port_wait, 2};

#define CAISSON_TAG_PROXY_LISTEN_KIND 1
#define CAISSON_PROXY_LISTEN_KIND_HTTP 1
#define CAISSON_PROXY_LISTEN_KIND_SOCKS 2
#define CAISSON_TAG_PROXY_LISTEN_PORT 2
static const struct caisson_field caisson_fields_proxy_listen[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_CHOICE, 1, 1, 2, NULL},
  {2, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 1, 65535, NULL},
};
static const struct caisson_message caisson_message_proxy_listen = {"proxy_listen", caisson_fields_proxy_listen, 2};

#define CAISSON_TAG_PROXY_CONNECT_KIND 1
#define CAISSON_PROXY_CONNECT_KIND_HTTP 1
#define CAISSON_PROXY_CONNECT_KIND_SOCKS 2
#define CAISSON_TAG_PROXY_CONNECT_UID 2
static const struct caisson_field caisson_fields_proxy_connect[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_CHOICE, 1, 1, 2, NULL},
  {2, 1, CAISSON_OPTIONAL, 0, CAISSON_PLAIN, 1, 0, 4294967295, NULL},
};
static const struct caisson_message caisson_message_proxy_connect = {"proxy_connect", caisson_fields_proxy_connect, 2};

static const struct caisson_message caisson_message_sys_info = {"sys_info", NULL, 0};

#define CAISSON_TAG_SYS_INFO_RESULT_GUEST_VERSION 1
#define CAISSON_TAG_SYS_INFO_RESULT_BOOT_ID 2
#define CAISSON_TAG_SYS_INFO_RESULT_KERNEL 3
#define CAISSON_TAG_SYS_INFO_RESULT_MACHINE 4
#define CAISSON_TAG_SYS_INFO_RESULT_HOSTNAME 5
#define CAISSON_TAG_SYS_INFO_RESULT_STARTED_AT 6
static const struct caisson_field caisson_fields_sys_info_result[] = {
  {1, 4, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 64, NULL},
  {2, 5, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 16, 16, NULL},
  {3, 4, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 256, NULL},
  {4, 4, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 64, NULL},
  {5, 4, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 256, NULL},
  {6, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
};
static const struct caisson_message caisson_message_sys_info_result = {"sys_info_result", caisson_fields_sys_info_result, 6};

static const struct caisson_message caisson_message_sys_stats = {"sys_stats", NULL, 0};

#define CAISSON_TAG_SYS_STATS_RESULT_PROCESSES 1
#define CAISSON_TAG_SYS_STATS_RESULT_KEPT_PROCESSES 2
#define CAISSON_TAG_SYS_STATS_RESULT_RING_BYTES 3
#define CAISSON_TAG_SYS_STATS_RESULT_DESCRIPTORS 4
#define CAISSON_TAG_SYS_STATS_RESULT_RESIDENT_KI_B 5
#define CAISSON_TAG_SYS_STATS_RESULT_MEMORY_BYTES 6
#define CAISSON_TAG_SYS_STATS_RESULT_CPU_MILLISECONDS 7
#define CAISSON_TAG_SYS_STATS_RESULT_DISK_USED_BYTES 8
#define CAISSON_TAG_SYS_STATS_RESULT_DISK_TOTAL_BYTES 9
#define CAISSON_TAG_SYS_STATS_RESULT_UPTIME_MS 10
static const struct caisson_field caisson_fields_sys_stats_result[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {2, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {3, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {4, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {5, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {6, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {7, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {8, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {9, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
  {10, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
};
static const struct caisson_message caisson_message_sys_stats_result = {"sys_stats_result", caisson_fields_sys_stats_result, 10};

static const struct caisson_message caisson_message_sys_sync = {"sys_sync", NULL, 0};

#define CAISSON_TAG_SYS_SHUTDOWN_GRACE_MS 1
static const struct caisson_field caisson_fields_sys_shutdown[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 600000, NULL},
};
static const struct caisson_message caisson_message_sys_shutdown = {"sys_shutdown", caisson_fields_sys_shutdown, 1};

#define CAISSON_TAG_SYS_SHUTDOWN_RESULT_ENDED 1
static const struct caisson_field caisson_fields_sys_shutdown_result[] = {
  {1, 1, CAISSON_REQUIRED, 0, CAISSON_PLAIN, 1, 0, 9007199254740991, NULL},
};
static const struct caisson_message caisson_message_sys_shutdown_result = {"sys_shutdown_result", caisson_fields_sys_shutdown_result, 1};

static const struct caisson_method caisson_methods[] = {
  {0x0101, 0, 0, CAISSON_NONE, CAISSON_ALONE, &caisson_message_process_spawn, NULL, &caisson_message_process_spawned},
  {0x0102, 0, 0, CAISSON_BYTES, CAISSON_FIRST, &caisson_message_process_attach, NULL, &caisson_message_process_attached},
  {0x0103, 0, 1, CAISSON_NONE, CAISSON_ALONE, &caisson_message_process_stdin, NULL, &caisson_message_process_stdin_done},
  {0x0104, 0, 0, CAISSON_NONE, CAISSON_ALONE, &caisson_message_process_signal, NULL, &caisson_message_nothing},
  {0x0105, 0, 0, CAISSON_NONE, CAISSON_ALONE, &caisson_message_process_resize, NULL, &caisson_message_nothing},
  {0x0106, 0, 0, CAISSON_NONE, CAISSON_ALONE, &caisson_message_process_wait, NULL, &caisson_message_exit_status},
  {0x0107, 0, 0, CAISSON_RECORDS, CAISSON_LAST, &caisson_message_process_list, &caisson_message_process_batch, &caisson_message_nothing},
  {0x0108, 0, 0, CAISSON_NONE, CAISSON_ALONE, &caisson_message_process_forget, NULL, &caisson_message_nothing},
  {0x0201, 0, 0, CAISSON_NONE, CAISSON_ALONE, &caisson_message_file_stat, NULL, &caisson_message_entry_result},
  {0x0202, 0, 0, CAISSON_RECORDS, CAISSON_LAST, &caisson_message_file_list, &caisson_message_entry_batch, &caisson_message_cut},
  {0x0203, 0, 0, CAISSON_BYTES, CAISSON_FIRST, &caisson_message_file_read, NULL, &caisson_message_entry_result},
  {0x0204, 0, 1, CAISSON_NONE, CAISSON_ALONE, &caisson_message_file_write, NULL, &caisson_message_entry_result},
  {0x0205, 0, 0, CAISSON_NONE, CAISSON_ALONE, &caisson_message_file_mkdir, NULL, &caisson_message_file_made},
  {0x0206, 0, 0, CAISSON_NONE, CAISSON_ALONE, &caisson_message_file_move, NULL, &caisson_message_entry_result},
  {0x0207, 0, 0, CAISSON_NONE, CAISSON_ALONE, &caisson_message_file_remove, NULL, &caisson_message_nothing},
  {0x0208, 0, 0, CAISSON_NONE, CAISSON_ALONE, &caisson_message_file_symlink, NULL, &caisson_message_nothing},
  {0x0209, 0, 0, CAISSON_NONE, CAISSON_ALONE, &caisson_message_file_chmod, NULL, &caisson_message_nothing},
  {0x020a, 0, 0, CAISSON_NONE, CAISSON_ALONE, &caisson_message_file_chown, NULL, &caisson_message_nothing},
  {0x020b, 0, 0, CAISSON_NONE, CAISSON_ALONE, &caisson_message_file_xattr_get, NULL, &caisson_message_file_xattr},
  {0x020c, 0, 0, CAISSON_NONE, CAISSON_ALONE, &caisson_message_file_xattr_set, NULL, &caisson_message_nothing},
  {0x020d, 0, 0, CAISSON_NONE, CAISSON_ALONE, &caisson_message_file_xattr_list, NULL, &caisson_message_file_xattrs},
  {0x020e, 0, 0, CAISSON_NONE, CAISSON_ALONE, &caisson_message_file_xattr_remove, NULL, &caisson_message_nothing},
  {0x0211, 0, 0, CAISSON_RECORDS, CAISSON_LAST, &caisson_message_file_glob, &caisson_message_entry_batch, &caisson_message_cut},
  {0x0212, 0, 0, CAISSON_RECORDS, CAISSON_LAST, &caisson_message_file_grep, &caisson_message_grep_batch, &caisson_message_grep_done},
  {0x0213, 0, 0, CAISSON_RECORDS, CAISSON_FIRST, &caisson_message_file_watch, &caisson_message_watch_batch, &caisson_message_nothing},
  {0x0214, 0, 0, CAISSON_BYTES, CAISSON_LAST, &caisson_message_file_tar_out, NULL, &caisson_message_archived},
  {0x0215, 0, 1, CAISSON_NONE, CAISSON_ALONE, &caisson_message_file_tar_in, NULL, &caisson_message_archived},
  {0x0301, 0, 1, CAISSON_BYTES, CAISSON_FIRST, &caisson_message_port_connect, NULL, &caisson_message_nothing},
  {0x0302, 0, 0, CAISSON_RECORDS, CAISSON_LAST, &caisson_message_port_list, &caisson_message_port_batch, &caisson_message_nothing},
  {0x0303, 0, 0, CAISSON_NONE, CAISSON_ALONE, &caisson_message_port_wait, NULL, &caisson_message_nothing},
  {0x0401, 0, 0, CAISSON_NONE, CAISSON_ALONE, &caisson_message_proxy_listen, NULL, &caisson_message_nothing},
  {0x0402, 1, 1, CAISSON_BYTES, CAISSON_FIRST, &caisson_message_proxy_connect, NULL, &caisson_message_nothing},
  {0x0501, 0, 0, CAISSON_NONE, CAISSON_ALONE, &caisson_message_sys_info, NULL, &caisson_message_sys_info_result},
  {0x0502, 0, 0, CAISSON_NONE, CAISSON_ALONE, &caisson_message_sys_stats, NULL, &caisson_message_sys_stats_result},
  {0x0503, 0, 0, CAISSON_NONE, CAISSON_ALONE, &caisson_message_sys_sync, NULL, &caisson_message_nothing},
  {0x0504, 0, 0, CAISSON_NONE, CAISSON_ALONE, &caisson_message_sys_shutdown, NULL, &caisson_message_sys_shutdown_result},
};

#endif
