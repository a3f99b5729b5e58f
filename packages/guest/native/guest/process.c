#include "process.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { buckets = 512 };

static struct process *by_id[buckets], *by_pid[buckets];
static struct process *first, *last;
/* Commands mostly come one at a time: the next finds its memory where the last one left it. */
static struct process *spare;
static size_t count;

static size_t hash(const char *id, size_t size) {
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < size; i++) h = (h ^ (uint8_t)id[i]) * 16777619u;
  return h % buckets;
}

struct process *process_find(const char *id, size_t size) {
  struct process *p = by_id[hash(id, size)];
  while (p != NULL && (strlen(p->id) != size || memcmp(p->id, id, size) != 0)) p = p->next_by_id;
  return p;
}

struct process *process_by_pid(pid_t pid) {
  struct process *p = by_pid[(uint32_t)pid % buckets];
  while (p != NULL && p->pid != pid) p = p->next_by_pid;
  return p;
}

struct process *process_first(void) { return first; }
struct process *process_last(void) { return last; }

size_t process_count(enum stage stage) {
  size_t n = 0;
  for (struct process *p = first; p != NULL; p = p->next) n += p->stage == stage;
  return n;
}

struct process *process_add(const char *id, size_t size) {
  if (count == CAISSON_LIMIT_PROCESSES_MAX) return NULL;
  struct process *p = spare == NULL ? malloc(sizeof *p) : spare;
  if (p == NULL) return NULL;
  spare = NULL;
  memset(p, 0, sizeof *p);
  memcpy(p->id, id, size);
  p->in.watch.fd = p->exec.fd = -1;
  for (int i = 0; i < 2; i++) {
    p->out[i].process = p;
    p->out[i].watch.fd = -1;
  }
  struct process **bucket = &by_id[hash(id, size)];
  p->next_by_id = *bucket;
  *bucket = p;
  p->previous = last;
  if (last != NULL) last->next = p;
  else first = p;
  last = p;
  count++;
  return p;
}

void process_index_pid(struct process *p) {
  struct process **bucket = &by_pid[(uint32_t)p->pid % buckets];
  p->next_by_pid = *bucket;
  *bucket = p;
}

void process_remove(struct process *p) {
  struct process **link = &by_id[hash(p->id, strlen(p->id))];
  while (*link != p) link = &(*link)->next_by_id;
  *link = p->next_by_id;
  link = &by_pid[(uint32_t)p->pid % buckets];
  while (*link != NULL && *link != p) link = &(*link)->next_by_pid;
  if (*link == p) *link = p->next_by_pid;
  if (p->previous != NULL) p->previous->next = p->next;
  else first = p->next;
  if (p->next != NULL) p->next->previous = p->previous;
  else last = p->previous;
  count--;
  output_calm_end(p);
  for (int i = 0; i < 2; i++) {
    output_close(&p->out[i]);
    ring_free(&p->out[i].ring);
  }
  input_close(&p->in);
  loop_unwatch(&p->exec);
  if (p->exec.fd >= 0) close(p->exec.fd);
  timer_clear(&p->timeout);
  timer_clear(&p->drain);
  timer_clear(&p->youth);
  free(p->command);
  free(p->tags);
  if (spare == NULL) spare = p;
  else free(p);
}

void process_trim(void) {
  free(spare);
  spare = NULL;
}
