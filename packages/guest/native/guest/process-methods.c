/* process.signal, resize, list and forget. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"
#include "pty.h"

struct process *process_of(struct channel *ch, struct slice params, uint16_t tag) {
  struct slice id = message_bytes(params, tag);
  struct process *p = process_find((const char *)id.at, id.size);
  if (p == NULL)
    channel_fail(ch, CAISSON_ERROR_PROCESS_NOT_FOUND, 0, "there is no process %.*s", (int)id.size, (const char *)id.at);
  return p;
}

void signal_begin(struct channel *ch, struct slice params) {
  struct process *p = process_of(ch, params, CAISSON_TAG_PROCESS_SIGNAL_ID);
  if (p == NULL) return;
  uint64_t sequence = message_uint(params, CAISSON_TAG_PROCESS_SIGNAL_SEQUENCE, 0);
  if (sequence <= p->signal_sequence) return channel_answer_nothing(ch);
  if (p->exit_known) return channel_fail(ch, CAISSON_ERROR_PROCESS_EXITED, 0, "the process has ended");
  bool group = message_uint(params, CAISSON_TAG_PROCESS_SIGNAL_TARGET, 1) == CAISSON_PROCESS_SIGNAL_TARGET_GROUP;
  int number = (int)message_uint(params, CAISSON_TAG_PROCESS_SIGNAL_SIGNAL, 0);
  p->signal_sequence = sequence;
  /* Between fork and setsid there is no group of its own yet; the child alone is all there is. */
  int failed = kill(group ? -p->pid : p->pid, number);
  if (failed != 0 && group && errno == ESRCH) failed = kill(p->pid, number);
  if (failed != 0) return channel_fail_errno(ch, errno, "kill");
  p->kill_asked |= number == SIGKILL;
  channel_answer_nothing(ch);
}

void resize_begin(struct channel *ch, struct slice params) {
  struct process *p = process_of(ch, params, CAISSON_TAG_PROCESS_RESIZE_ID);
  if (p == NULL) return;
  struct slice size = message_bytes(params, CAISSON_TAG_PROCESS_RESIZE_SIZE);
  if (!p->pty) return channel_fail(ch, CAISSON_ERROR_INVALID_ARGUMENT, 0, "the process has no terminal");
  if (p->exit_known || p->out[0].watch.fd < 0)
    return channel_fail(ch, CAISSON_ERROR_PROCESS_EXITED, 0, "the process has ended");
  uint16_t rows = (uint16_t)message_uint(size, CAISSON_TAG_PTY_SIZE_ROWS, 24);
  uint16_t columns = (uint16_t)message_uint(size, CAISSON_TAG_PTY_SIZE_COLUMNS, 80);
  if (!pty_resize(p->out[0].watch.fd, rows, columns)) return channel_fail_errno(ch, errno, "resize");
  channel_answer_nothing(ch);
}

void forget_begin(struct channel *ch, struct slice params) {
  struct slice id = message_bytes(params, CAISSON_TAG_PROCESS_FORGET_ID);
  struct process *p = process_find((const char *)id.at, id.size);
  if (p == NULL) return channel_answer_nothing(ch);
  if (p->stage != ENDED || p->out[0].channel != NULL || p->out[1].channel != NULL)
    return channel_fail(ch, CAISSON_ERROR_BUSY, 0, "the process runs or is attached");
  /* The KILL that its group had coming after a timeout is not forgotten with it. */
  if (p->timeout.slot != 0 && p->timed_out) kill(-p->pid, SIGKILL);
  process_remove(p);
  /* Forgetting is tidying up. */
  channel_answer_later(ch, NULL);
}

static bool has_tag(const struct process *p, struct slice tag) {
  const char *at = p->tags;
  for (size_t i = 0; i < p->tag_count; i++, at += strlen(at) + 1)
    if (strlen(at) == tag.size && memcmp(at, tag.at, tag.size) == 0) return true;
  return false;
}

static void write_info(struct writer *w, const struct process *p) {
  size_t begin = write_begin(w, CAISSON_TAG_PROCESS_BATCH_PROCESSES);
  write_text(w, CAISSON_TAG_PROCESS_INFO_ID, p->id);
  write_uint(w, CAISSON_TAG_PROCESS_INFO_PID, (uint64_t)p->pid);
  write_bytes(w, CAISSON_TAG_PROCESS_INFO_COMMAND, p->command, strlen(p->command));
  write_text_cut(w, CAISSON_TAG_PROCESS_INFO_USER, p->user, 32);
  const char *tag = p->tags;
  for (size_t i = 0; i < p->tag_count; i++, tag += strlen(tag) + 1) write_text(w, CAISSON_TAG_PROCESS_INFO_TAGS, tag);
  write_bool(w, CAISSON_TAG_PROCESS_INFO_PTY, p->pty);
  write_uint(w, CAISSON_TAG_PROCESS_INFO_STARTED_AT, (uint64_t)p->started_at);
  write_uint(w, CAISSON_TAG_PROCESS_INFO_STDOUT_BYTES, p->out[0].ring.end);
  write_uint(w, CAISSON_TAG_PROCESS_INFO_STDERR_BYTES, p->out[1].ring.end);
  write_uint(w, CAISSON_TAG_PROCESS_INFO_STDIN_BYTES, p->in.written);
  if (p->stage == ENDED) {
    size_t exit = write_begin(w, CAISSON_TAG_PROCESS_INFO_EXIT);
    write_exit(w, &p->exit);
    write_end(w, exit);
  }
  write_uint(w, CAISSON_TAG_PROCESS_INFO_SIGNAL_SEQUENCE, p->signal_sequence);
  write_end(w, begin);
}

/* One list that is being sent. It goes on by position: what is forgotten meanwhile may hide a neighbour, as in any list of live things. */
struct listing {
  char id[33], tag[65];
  bool by_id, by_tag, done;
  uint64_t position;
  uint8_t *record;
  size_t size;
};

enum { record_max = 60 * 1024, batch_items = 256 };

static bool wanted(const struct listing *l, const struct process *p) {
  if (p->stage == STARTING) return false;
  if (l->by_id && strcmp(p->id, l->id) != 0) return false;
  return !l->by_tag || has_tag(p, (struct slice){(const uint8_t *)l->tag, strlen(l->tag)});
}

static void fill_record(struct listing *l) {
  struct writer w = writer_on(l->record, record_max);
  uint64_t index = 0;
  int items = 0;
  struct process *p = process_first();
  for (; p != NULL && index < l->position; p = p->next) index++;
  for (; p != NULL && items < batch_items; p = p->next) {
    size_t before = w.size;
    if (wanted(l, p)) {
      write_info(&w, p);
      if (w.full) {
        w.size = before;
        break;
      }
      items++;
    }
    l->position++;
  }
  l->done = p == NULL;
  l->size = w.size;
}

static void listing_free(struct listing *l) {
  free(l->record);
  free(l);
}

static size_t list_pull(struct channel *ch, size_t max, struct slice pieces[2]) {
  struct listing *l = ch->owner;
  if (l->size == 0 || l->size > max) return 0;
  pieces[0] = (struct slice){l->record, l->size};
  return l->size;
}

static void list_sent(struct channel *ch, size_t size) {
  struct listing *l = ch->owner;
  (void)size;
  l->size = 0;
  if (!l->done) fill_record(l);
  if (l->size > 0) return channel_ready(ch);
  listing_free(l);
  channel_answer_nothing(ch);
}

static void list_gone(struct channel *ch) { listing_free(ch->owner); }
static const struct channel_ops list_ops = {.pull = list_pull, .sent = list_sent, .gone = list_gone};

static void copy_text(char *to, size_t room, struct slice from) {
  size_t size = from.size < room - 1 ? from.size : room - 1;
  if (size > 0) memcpy(to, from.at, size);
  to[size] = 0;
}

void process_list_begin(struct channel *ch, struct slice params) {
  struct listing *l = calloc(1, sizeof *l);
  if (l != NULL) l->record = malloc(record_max);
  if (l == NULL || l->record == NULL) {
    free(l);
    return channel_fail(ch, CAISSON_ERROR_OUT_OF_MEMORY, ENOMEM, "no memory for a list");
  }
  l->by_id = message_has(params, CAISSON_TAG_PROCESS_LIST_ID);
  l->by_tag = message_has(params, CAISSON_TAG_PROCESS_LIST_TAG);
  copy_text(l->id, sizeof l->id, message_bytes(params, CAISSON_TAG_PROCESS_LIST_ID));
  copy_text(l->tag, sizeof l->tag, message_bytes(params, CAISSON_TAG_PROCESS_LIST_TAG));
  fill_record(l);
  if (l->size == 0) {
    listing_free(l);
    return channel_answer_nothing(ch);
  }
  channel_own(ch, &list_ops, l);
  channel_ready(ch);
}
