#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../guest/loop.h"
#include "guest-test.h"

enum { timers = 200 };

static int64_t last;
static int fired;

static void on_fire(struct timer *timer) {
  CHECK(timer->at >= last);
  last = timer->at;
  fired++;
}

static void stop_when_done(void) {
  if (fired >= timers / 2) exit(0);
}

/* In a child, because the loop never returns. */
static void timers_fire_in_order_and_cleared_ones_do_not(void) {
  int pid = fork();
  if (pid == 0) {
    static struct timer all[timers];
    if (!loop_open()) exit(2);
    unsigned seed = 7;
    for (int i = 0; i < timers; i++) {
      all[i].fire = on_fire;
      seed = seed * 1103515245 + 12345;
      timer_set(&all[i], loop_now() + (int64_t)(seed >> 16) % 20);
    }
    for (int i = 0; i < timers; i += 2) timer_clear(&all[i]);
    for (int i = 1; i < timers; i += 4) timer_set(&all[i], loop_now() + 5);
    loop_run(stop_when_done);
  }
  int status = 1;
  waitpid(pid, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void test_loop(void) { timers_fire_in_order_and_cleared_ones_do_not(); }
