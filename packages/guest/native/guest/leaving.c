#include "leaving.h"

#include <signal.h>
#include <stdlib.h>

#include "loop.h"

/* To remove one temporary takes no time; only a disk that hangs, or a signal, takes longer than this. */
enum { patience_ms = 5000 };

struct leaving {
  pid_t pid;
  int64_t deadline;
  struct leaving *next;
};

static struct leaving *first;
static struct timer timer;

static void on_timer(struct timer *unused) {
  (void)unused;
  int64_t next = 0;
  for (struct leaving *one = first; one != NULL; one = one->next) {
    if (one->deadline <= loop_now()) kill(one->pid, SIGKILL);
    else if (next == 0 || one->deadline < next) next = one->deadline;
  }
  if (next != 0) timer_set(&timer, next);
}

void leaving_add(pid_t pid) {
  struct leaving *one = malloc(sizeof *one);
  if (one == NULL) {
    kill(pid, SIGKILL);
    return;
  }
  *one = (struct leaving){pid, loop_now() + patience_ms, first};
  first = one;
  timer.fire = on_timer;
  if (timer.slot == 0) timer_set(&timer, one->deadline);
}

bool leaving_reaped(pid_t pid) {
  struct leaving **link = &first;
  while (*link != NULL && (*link)->pid != pid) link = &(*link)->next;
  if (*link == NULL) return false;
  struct leaving *gone = *link;
  *link = gone->next;
  free(gone);
  return true;
}
