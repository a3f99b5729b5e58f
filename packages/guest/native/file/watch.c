/*
 * file.watch: inotify's events, merged and paired, as records. What finds no credit waits here in a bounded list; when
 * that is full everything in it is dropped, and the next record says `overflow`.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "temporary.h"
#include "watch-tree.h"

enum { pending_max = 4096, record_events = 1024 };

struct event {
  uint8_t kind;
  bool directory;
  uint32_t cookie; /* of a removal that may be the first half of a rename; 0 otherwise */
  char *path, *to;
};

static struct watch_tree tree;
static struct event pending[pending_max];
static size_t pending_count;
static bool overflow;
static uint32_t own_cookie; /* of a rename from a temporary */

static void drop_pending(void) {
  for (size_t i = 0; i < pending_count; i++) {
    /* Moved, and nobody will be told where to; if it stays in the tree it is found there. */
    if (pending[i].cookie != 0 && pending[i].directory) watch_tree_removed(&tree, pending[i].path);
    free(pending[i].path);
    free(pending[i].to);
  }
  pending_count = 0;
}

static void add(uint8_t kind, const char *path, bool directory, uint32_t cookie) {
  struct event *last = pending_count == 0 ? NULL : &pending[pending_count - 1];
  /* A program that writes in small pieces is one change; so is a file that is made and then written. */
  if (last != NULL && kind == CAISSON_WATCH_EVENT_KIND_WRITE && last->kind == kind && strcmp(last->path, path) == 0)
    return;
  if (pending_count == pending_max) {
    drop_pending();
    overflow = true;
  }
  char *copy = strdup(path);
  if (copy == NULL) {
    overflow = true;
    return;
  }
  pending[pending_count++] = (struct event){kind, directory, cookie, copy, NULL};
}

static void on_found(const char *path, bool directory) { add(CAISSON_WATCH_EVENT_KIND_CREATE, path, directory, 0); }

/* The other half of a rename, if its first half is still here. */
static bool pair(const char *to, uint32_t cookie, bool directory) {
  for (size_t i = pending_count; i > 0; i--) {
    struct event *event = &pending[i - 1];
    if (event->cookie != cookie || cookie == 0) continue;
    event->to = strdup(to);
    if (event->to == NULL) return false;
    event->kind = CAISSON_WATCH_EVENT_KIND_RENAME;
    event->cookie = 0;
    if (directory) watch_tree_moved(&tree, event->path, to);
    return true;
  }
  return false;
}

static void on_new(const char *path, bool directory) {
  add(CAISSON_WATCH_EVENT_KIND_CREATE, path, directory, 0);
  int error = directory ? watch_tree_add(&tree, path, on_found) : 0;
  if (error == ENOSPC || error == ENOMEM) overflow = true;
}

/* Names of our own temporaries are nobody's business; a rename from one is how a file.write ends. */
static void on_named(const struct inotify_event *e, const char *path, bool directory) {
  bool hidden = is_temporary(e->name);
  if (e->mask & IN_MOVED_TO) {
    if (pair(path, e->cookie, directory)) return;
    if (hidden) return;
    on_new(path, directory);
    /* It may have been there before, and then what is new is what it holds. */
    if (e->cookie == own_cookie && !directory) add(CAISSON_WATCH_EVENT_KIND_WRITE, path, false, 0);
    return;
  }
  if (hidden) {
    if (e->mask & IN_MOVED_FROM) own_cookie = e->cookie;
    return;
  }
  /* The kernel calls a file without a name by its number, and tells of its mode all the same. */
  if ((e->mask & IN_ATTRIB) != 0 && e->name[0] == '#' && !watch_tree_holds(&tree, path)) return;
  if (e->mask & IN_MOVED_FROM) add(CAISSON_WATCH_EVENT_KIND_REMOVE, path, directory, e->cookie);
  else if (e->mask & IN_CREATE) {
    on_new(path, directory);
  } else if (e->mask & IN_DELETE) {
    if (directory) watch_tree_removed(&tree, path);
    add(CAISSON_WATCH_EVENT_KIND_REMOVE, path, directory, 0);
  } else if (e->mask & (IN_MODIFY | IN_CLOSE_WRITE)) add(CAISSON_WATCH_EVENT_KIND_WRITE, path, directory, 0);
  else if (e->mask & IN_ATTRIB) add(CAISSON_WATCH_EVENT_KIND_CHMOD, path, directory, 0);
}

/* False when the root is gone and there is nothing more to watch. */
static bool on_event(const struct inotify_event *e) {
  if (e->mask & IN_Q_OVERFLOW) {
    drop_pending();
    overflow = true;
    int error = watch_tree_again(&tree);
    return error != ENOENT && error != ENOTDIR;
  }
  const char *parent = watch_tree_path(&tree, e->wd);
  if (e->mask & IN_IGNORED) {
    bool root = parent != NULL && *parent == 0;
    watch_tree_forget(&tree, e->wd);
    return !root;
  }
  if (parent == NULL || e->len == 0) return true;
  char path[path_bytes];
  int size = snprintf(path, sizeof path, "%s%s%s", parent, *parent == 0 ? "" : "/", e->name);
  if (size > 0 && (size_t)size < sizeof path) on_named(e, path, (e->mask & IN_ISDIR) != 0);
  return true;
}

static bool read_events(void) {
  static char buffer[64 * 1024] __attribute__((aligned(8)));
  for (;;) {
    ssize_t size = read(tree.inotify, buffer, sizeof buffer);
    if (size <= 0) return true;
    for (char *at = buffer; at < buffer + size;) {
      const struct inotify_event *e = (const struct inotify_event *)(void *)at;
      if (!on_event(e)) return false;
      at += sizeof *e + e->len;
    }
  }
}

static void send_record(void) {
  static uint8_t buffer[record_bytes];
  struct writer w = writer_on(buffer, sizeof buffer - 16);
  size_t sent = 0;
  for (; sent < pending_count && sent < record_events; sent++) {
    struct event *event = &pending[sent];
    size_t before = w.size, begin = write_begin(&w, CAISSON_TAG_WATCH_BATCH_EVENTS);
    write_uint(&w, CAISSON_TAG_WATCH_EVENT_KIND, event->kind);
    write_bytes(&w, CAISSON_TAG_WATCH_EVENT_PATH, event->path, strlen(event->path));
    if (event->to != NULL) write_bytes(&w, CAISSON_TAG_WATCH_EVENT_RENAMED_TO, event->to, strlen(event->to));
    write_bool(&w, CAISSON_TAG_WATCH_EVENT_DIRECTORY, event->directory);
    write_end(&w, begin);
    if (w.full) {
      w.full = false;
      w.size = before;
      break;
    }
    /* Moved out of the tree, and not within it: nothing below it is watched any more. */
    if (event->cookie != 0 && event->directory) watch_tree_removed(&tree, event->path);
    free(event->path);
    free(event->to);
  }
  w.capacity = sizeof buffer;
  write_bool(&w, CAISSON_TAG_WATCH_BATCH_OVERFLOW, overflow);
  overflow = false;
  pending_count -= sent;
  memmove(pending, pending + sent, pending_count * sizeof *pending);
  reply_data(w.at, w.size);
}

void do_watch(struct slice params) {
  char path[path_bytes];
  request_path(params, CAISSON_TAG_FILE_WATCH_PATH, path);
  int error = watch_tree_open(&tree, path, message_bool(params, CAISSON_TAG_FILE_WATCH_RECURSIVE));
  if (error != 0) watch_tree_close(&tree);
  if (error == ENOSPC || error == EMFILE)
    return reply_code(CAISSON_ERROR_LIMIT_REACHED, error, "there are as many watches as the kernel allows");
  if (error != 0) return reply_error(error, path);
  reply_nothing();
  for (;;) {
    bool waiting = pending_count > 0 || overflow;
    struct pollfd polls[2] = {{.fd = tree.inotify, .events = POLLIN},
                              {.fd = request_socket(), .events = (short)(POLLIN | (waiting ? POLLOUT : 0))}};
    if (poll(polls, 2, -1) < 0 && errno != EINTR) cancelled();
    /* The guest says nothing while it wants the watch: whatever comes is its end. */
    if (polls[1].revents & (POLLIN | POLLHUP | POLLERR)) cancelled();
    bool alive = (polls[0].revents & POLLIN) == 0 || read_events();
    if (pending_count > 0 || overflow) {
      if (polls[1].revents & POLLOUT || !alive) send_record();
    }
    if (alive) continue;
    watch_tree_close(&tree);
    drop_pending();
    return reply_code(CAISSON_ERROR_NOT_FOUND, ENOENT, "%.400s is gone", path);
  }
}
