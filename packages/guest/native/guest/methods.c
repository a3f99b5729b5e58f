/* Which code serves which method. */
#include "connection.h"
#include "port.h"
#include "process.h"
#include "sys.h"
#include "worker.h"

static const struct {
  uint16_t number;
  method_begin begin;
} handlers[] = {
  {CAISSON_METHOD_PROCESS_SPAWN, spawn_begin},
  {CAISSON_METHOD_PROCESS_ATTACH, attach_begin},
  {CAISSON_METHOD_PROCESS_STDIN, stdin_begin},
  {CAISSON_METHOD_PROCESS_SIGNAL, signal_begin},
  {CAISSON_METHOD_PROCESS_RESIZE, resize_begin},
  {CAISSON_METHOD_PROCESS_WAIT, wait_begin},
  {CAISSON_METHOD_PROCESS_LIST, process_list_begin},
  {CAISSON_METHOD_PROCESS_FORGET, forget_begin},
  {CAISSON_METHOD_PORT_CONNECT, port_connect_begin},
  {CAISSON_METHOD_PORT_LIST, worker_begin_as_root},
  {CAISSON_METHOD_PORT_WAIT, port_wait_begin},
  {CAISSON_METHOD_PROXY_LISTEN, proxy_listen_begin},
  {CAISSON_METHOD_SYS_INFO, info_begin},
  {CAISSON_METHOD_SYS_STATS, stats_begin},
  {CAISSON_METHOD_SYS_SYNC, worker_begin_as_root},
  {CAISSON_METHOD_SYS_SHUTDOWN, shutdown_begin},
};

const struct caisson_method *method_find(uint16_t number) {
  for (size_t i = 0; i < sizeof caisson_methods / sizeof *caisson_methods; i++)
    if (caisson_methods[i].number == number) return &caisson_methods[i];
  return NULL;
}

method_begin method_handler(uint16_t number) {
  for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++)
    if (handlers[i].number == number) return handlers[i].begin;
  /* Every method of the file family is a worker's. */
  return number >> 8 == 2 ? worker_begin : NULL;
}
