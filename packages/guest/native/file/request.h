/*
 * The request that this worker serves, and the ways to answer it.
 *
 * Law: a method ends by exactly one reply_result, reply_error, reply_code or reply_file. Data and records come before it,
 * or after it where the method answers first.
 */
#ifndef CAISSON_REQUEST_H
#define CAISSON_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../wire/message.h"
#include "../wire/writer.h"

/* Records stay below the smallest window, so that one always fits. */
enum { record_bytes = 60 * 1024, path_bytes = CAISSON_LIMIT_PATH_MAX + 1 };

void reply_data(const void *at, size_t size);
void reply_result(const struct writer *result);
void reply_nothing(void);
/* The end of the data, after a result that came first. */
void reply_end(void);
void reply_error(int error, const char *what);
void reply_code(uint8_t code, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));
void reply_taken(size_t size);
void reply_file(int fd, uint64_t offset, uint64_t length, const struct writer *result);
/* The next piece of input, valid until the next call; false at its end. Does not return when the request is cancelled. */
bool input_next(struct slice *piece);
/* What to undo when the request is cancelled; NULL for nothing. */
void on_cancel(void (*cleanup)(void));
/* The socket to the guest, for a method that waits for other things too. */
int request_socket(void);
__attribute__((noreturn)) void cancelled(void);

/* A field as a C string; false after it has replied that it is too long. */
void request_path(struct slice params, uint16_t tag, char path[path_bytes]);

typedef void (*file_method)(struct slice params);
void do_stat(struct slice params);
void do_list(struct slice params);
void do_read(struct slice params);
void do_write(struct slice params);
void do_mkdir(struct slice params);
void do_move(struct slice params);
void do_remove(struct slice params);
void do_symlink(struct slice params);
void do_chmod(struct slice params);
void do_chown(struct slice params);
void do_xattr_get(struct slice params);
void do_xattr_set(struct slice params);
void do_xattr_list(struct slice params);
void do_xattr_remove(struct slice params);
void do_glob(struct slice params);
void do_grep(struct slice params);
void do_watch(struct slice params);
void do_tar_out(struct slice params);
void do_tar_in(struct slice params);
void do_port_list(struct slice params);
void do_sync(struct slice params);

#endif
