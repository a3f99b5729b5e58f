#include "loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "../protocol.h"

enum {
  batch_max = 64,
  /* Two for each process, one for each channel that waits for a connection or a port, and the guest's own. */
  timers_max = 2 * CAISSON_LIMIT_PROCESSES_MAX + 2 * CAISSON_LIMIT_CHANNELS_MAX + 64,
  /* To wake a sleeper takes the kernel about as long. More would only burn a processor that others want. */
  expect_ns = 50 * 1000,
};

static int epoll_fd = -1;
static struct epoll_event batch[batch_max];
static int batch_size;
static struct timer *heap[timers_max];
static size_t heap_size;
static int64_t now_ms;
static bool expecting;

static int64_t clock_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t clock_ms(clockid_t clock) { return clock_ns(clock) / 1000000; }

int64_t loop_now(void) { return now_ms; }
int64_t wall_now(void) { return clock_ms(CLOCK_REALTIME); }

bool loop_open(void) {
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  now_ms = clock_ms(CLOCK_MONOTONIC);
  return epoll_fd >= 0;
}

bool loop_watch(struct watch *watch, uint32_t events) {
  if (watch->added && watch->events == events) return true;
  struct epoll_event event = {.events = events, .data.ptr = watch};
  if (epoll_ctl(epoll_fd, watch->added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, watch->fd, &event) != 0) return false;
  watch->added = true;
  watch->events = events;
  return true;
}

void loop_unwatch(struct watch *watch) {
  if (!watch->added) return;
  epoll_ctl(epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
  watch->added = false;
  watch->events = 0;
  for (int i = 0; i < batch_size; i++)
    if (batch[i].data.ptr == watch) batch[i].data.ptr = NULL;
}

static void place(struct timer *timer, size_t i) {
  heap[i] = timer;
  timer->slot = i + 1;
}

static void rise(size_t i) {
  struct timer *timer = heap[i];
  while (i > 0 && heap[(i - 1) / 2]->at > timer->at) {
    place(heap[(i - 1) / 2], i);
    i = (i - 1) / 2;
  }
  place(timer, i);
}

static void sink(size_t i) {
  struct timer *timer = heap[i];
  for (;;) {
    size_t child = 2 * i + 1;
    if (child >= heap_size) break;
    if (child + 1 < heap_size && heap[child + 1]->at < heap[child]->at) child++;
    if (heap[child]->at >= timer->at) break;
    place(heap[child], i);
    i = child;
  }
  place(timer, i);
}

void timer_clear(struct timer *timer) {
  if (timer->slot == 0) return;
  size_t i = timer->slot - 1;
  timer->slot = 0;
  heap_size--;
  if (i == heap_size) return;
  place(heap[heap_size], i);
  rise(i);
  sink(heap[i]->slot - 1);
}

void timer_set(struct timer *timer, int64_t at) {
  timer_clear(timer);
  if (heap_size == timers_max) return;
  timer->at = at;
  heap[heap_size] = timer;
  heap_size++;
  rise(heap_size - 1);
}

static void fire_due(void) {
  /* Bounded, or a timer that sets itself to now would keep the loop here. */
  for (size_t left = heap_size; left > 0 && heap_size > 0 && heap[0]->at <= now_ms; left--) {
    struct timer *timer = heap[0];
    timer_clear(timer);
    timer->fire(timer);
  }
}

static int wait_ms(void) {
  if (heap_size == 0) return -1;
  int64_t wait = heap[0]->at - now_ms;
  return wait < 0 ? 0 : wait > 3600000 ? 3600000 : (int)wait;
}

/* How many of the batch were called. */
static int call_ready(bool urgent) {
  int called = 0;
  for (int i = 0; i < batch_size; i++) {
    struct watch *watch = batch[i].data.ptr;
    if (watch == NULL || watch->urgent != urgent) continue;
    batch[i].data.ptr = NULL;
    watch->ready(watch, batch[i].events);
    called++;
  }
  return called;
}

static void dispatch(int size, void (*after)(void)) {
  now_ms = clock_ms(CLOCK_MONOTONIC);
  batch_size = size < 0 ? 0 : size;
  int urgent = call_ready(true);
  if (urgent > 0 && urgent < batch_size) after();
  call_ready(false);
  batch_size = 0;
}

void loop_expect(void) { expecting = true; }

/* Without sleep while something is expected, and then with it. */
static int wait_for_events(void) {
  if (expecting) {
    expecting = false;
    for (int64_t until = clock_ns(CLOCK_MONOTONIC) + expect_ns; clock_ns(CLOCK_MONOTONIC) < until;) {
      int size = epoll_wait(epoll_fd, batch, batch_max, 0);
      if (size != 0) return size;
    }
  }
  return epoll_wait(epoll_fd, batch, batch_max, wait_ms());
}

void loop_run(void (*after)(void)) {
  for (;;) {
    dispatch(wait_for_events(), after);
    fire_due();
    after();
  }
}

void loop_abandon(void) {
  epoll_fd = -1;
  heap_size = 0;
  batch_size = 0;
}
