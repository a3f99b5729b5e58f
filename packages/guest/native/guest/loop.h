/*
 * The one event loop: descriptors and timers.
 *
 * Laws
 * - Nothing that is called from here may block, except on a regular file.
 * - A handler may remove any watch, also its own; a removed watch is not called again.
 * - At the end of each turn the after-hook runs: that is where frames are sent, so that all answers of one turn leave in
 *   one system call. What is urgent has a turn of its own before the rest.
 */
#ifndef CAISSON_LOOP_H
#define CAISSON_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct watch {
  int fd;
  uint32_t events;
  bool added;
  bool urgent; /* its turn comes before that of the others, and what it leads to leaves before them */
  void (*ready)(struct watch *watch, uint32_t events);
};

struct timer {
  int64_t at;
  size_t slot; /* place in the heap plus one; 0 when it is not set */
  void (*fire)(struct timer *timer);
};

int64_t loop_now(void); /* monotonic milliseconds, as of this turn */
int64_t wall_now(void); /* milliseconds since 1970 */

bool loop_open(void);
/* Sets which events are wanted (0 keeps the watch and silences it); adds it at first. */
bool loop_watch(struct watch *watch, uint32_t events);
void loop_unwatch(struct watch *watch);
void timer_set(struct timer *timer, int64_t at);
void timer_clear(struct timer *timer);
/* Something is likely to come within microseconds: the loop looks for it for a moment before it sleeps. */
void loop_expect(void);
void loop_run(void (*after)(void));
/* In a forked child: forgets the loop, so that nothing of it can be used by mistake. */
void loop_abandon(void);

#endif
