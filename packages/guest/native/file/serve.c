/* The worker's life: one request after the other from its socket, each answered, until the socket closes. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../guest/descriptors.h"
#include "../guest/worker.h"
#include "../wire/bytes.h"
#include "../wire/error-code.h"
#include "request.h"

static int guest = -1;
static uint8_t *packet; /* header and payload of the last packet received */
static const uint8_t *shared; /* where input comes */
static bool input_over;
static uint32_t taken; /* bytes that have left and were not told yet */

enum { taken_step = 256 * 1024 };
static void (*cleanup)(void);

static const struct {
  uint16_t number;
  file_method run;
} methods[] = {
  {CAISSON_METHOD_FILE_STAT, do_stat},           {CAISSON_METHOD_FILE_LIST, do_list},
  {CAISSON_METHOD_FILE_READ, do_read},           {CAISSON_METHOD_FILE_WRITE, do_write},
  {CAISSON_METHOD_FILE_MKDIR, do_mkdir},         {CAISSON_METHOD_FILE_MOVE, do_move},
  {CAISSON_METHOD_FILE_REMOVE, do_remove},       {CAISSON_METHOD_FILE_SYMLINK, do_symlink},
  {CAISSON_METHOD_FILE_CHMOD, do_chmod},         {CAISSON_METHOD_FILE_CHOWN, do_chown},
  {CAISSON_METHOD_FILE_XATTR_GET, do_xattr_get}, {CAISSON_METHOD_FILE_XATTR_SET, do_xattr_set},
  {CAISSON_METHOD_FILE_XATTR_LIST, do_xattr_list}, {CAISSON_METHOD_FILE_XATTR_REMOVE, do_xattr_remove},
  {CAISSON_METHOD_FILE_GLOB, do_glob},           {CAISSON_METHOD_FILE_GREP, do_grep},
  {CAISSON_METHOD_FILE_WATCH, do_watch},         {CAISSON_METHOD_FILE_TAR_OUT, do_tar_out},
  {CAISSON_METHOD_FILE_TAR_IN, do_tar_in},       {CAISSON_METHOD_PORT_LIST, do_port_list},
  {CAISSON_METHOD_SYS_SYNC, do_sync},
};

void cancelled(void) {
  if (cleanup != NULL) cleanup();
  _exit(0);
}

void on_cancel(void (*undo)(void)) { cleanup = undo; }
int request_socket(void) { return guest; }

static void send_packet(uint32_t kind, uint32_t value, const void *at, size_t size, int fd) {
  uint8_t header[worker_header];
  store32(header, kind);
  store32(header + 4, value);
  struct iovec pieces[2] = {{header, sizeof header}, {(void *)(uintptr_t)at, size}};
  union {
    struct cmsghdr align;
    uint8_t space[CMSG_SPACE(sizeof(int))];
  } control = {0};
  struct msghdr message = {.msg_iov = pieces, .msg_iovlen = size == 0 ? 1 : 2};
  if (fd >= 0) {
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
  }
  while (sendmsg(guest, &message, MSG_NOSIGNAL) < 0)
    if (errno != EINTR) cancelled();
}

void reply_data(const void *at, size_t size) {
  const uint8_t *bytes = at;
  while (size > 0) {
    size_t part = size < worker_data_max ? size : worker_data_max;
    send_packet(FROM_DATA, 0, bytes, part, -1);
    bytes += part;
    size -= part;
  }
}

void reply_result(const struct writer *result) { send_packet(FROM_RESULT, 0, result->at, result->size, -1); }
void reply_end(void) { send_packet(FROM_END, 0, NULL, 0, -1); }
void reply_nothing(void) { send_packet(FROM_RESULT, 0, NULL, 0, -1); }

static void send_taken(void) {
  if (taken > 0) send_packet(FROM_TAKEN, taken, NULL, 0, -1);
  taken = 0;
}

/* Told in larger steps while more input waits, and at once when none does. */
void reply_taken(size_t size) {
  taken += (uint32_t)size;
  if (taken >= taken_step) send_taken();
}

void reply_code(uint8_t code, int error, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  int size = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (size > (int)sizeof text - 1) size = (int)sizeof text - 1;
  send_packet(FROM_RESET, (uint32_t)code | (uint32_t)error << 16, text, (size_t)size, -1);
}

void reply_error(int error, const char *what) {
  reply_code(error_code(error), error, "%.400s: %s", what, strerror(error));
}

void reply_file(int fd, uint64_t offset, uint64_t length, const struct writer *result) {
  uint8_t payload[16 + 10 * 1024];
  store64(payload, offset);
  store64(payload + 8, length);
  memcpy(payload + 16, result->at, result->size);
  send_packet(FROM_FILE, 0, payload, 16 + result->size, fd);
}

/* Size of the payload; the kind and value stand in the packet's header. */
static size_t receive(void) {
  for (;;) {
    ssize_t n = recv(guest, packet, worker_header + worker_packet_max, taken > 0 ? MSG_DONTWAIT : 0);
    if (n < 0 && errno == EAGAIN) {
      send_taken();
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < worker_header) cancelled();
    return (size_t)n - worker_header;
  }
}

bool input_next(struct slice *piece) {
  if (input_over) return false;
  size_t size = receive();
  if (load32(packet) == TO_END) {
    input_over = true;
    return false;
  }
  uint32_t length = load32(packet + 4), where = size < 4 ? worker_input_max : load32(packet + worker_header);
  if (load32(packet) != TO_DATA || where > worker_input_max || length > worker_input_max - where) _exit(1);
  *piece = (struct slice){shared + where, length};
  return true;
}

void request_path(struct slice params, uint16_t tag, char path[path_bytes]) {
  struct slice given = message_bytes(params, tag);
  /* The table bounds it to pathMax bytes without NUL. */
  if (given.size > 0) memcpy(path, given.at, given.size);
  path[given.size] = 0;
}

static void run(uint16_t method, struct slice params) {
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
    if (methods[i].number == method) return methods[i].run(params);
  reply_code(CAISSON_ERROR_UNKNOWN_METHOD, 0, "no such file method");
}

void serve(int fd, const uint8_t *input) {
  guest = fd;
  shared = input;
  descriptors_allow(8192);
  packet = malloc(worker_header + worker_packet_max);
  if (packet == NULL) _exit(1);
  for (;;) {
    cleanup = NULL;
    input_over = false;
    taken = 0; /* of a request that is over */
    size_t size = receive();
    if (load32(packet) == TO_END || load32(packet) == TO_DATA) continue; /* of a request that was answered early */
    uint16_t method = (uint16_t)load32(packet + 4);
    if (load32(packet) != TO_BEGIN || size < 4) _exit(1);
    size_t total = load32(packet + worker_header), got = size - 4;
    uint8_t *params = total > CAISSON_LIMIT_PAYLOAD_MAX || got > total ? NULL : malloc(total + 1);
    if (params == NULL) _exit(1);
    memcpy(params, packet + worker_header + 4, got);
    while (got < total) {
      size = receive();
      if (load32(packet) != TO_MORE || size > total - got) _exit(1);
      memcpy(params + got, packet + worker_header, size);
      got += size;
    }
    run(method, (struct slice){params, total});
    free(params);
  }
}
