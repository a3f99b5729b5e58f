/*
 * File work is done in children of the guest that have become the chosen user for good, so that permission is the
 * kernel's decision, a call that hangs hangs nobody else, and a search that crashes is one failed request.
 *
 * A worker does one request at a time and is kept a while for the next of its user. It talks to the guest in packets
 * (SOCK_SEQPACKET): eight bytes of kind and value, then at most `worker_packet_max` of payload.
 *
 * Input comes in memory that the two share, or every byte of it would be copied three times more. What the worker, or who
 * has taken it over, does to that memory harms the worker's own file and nothing else: the guest never goes by what is there.
 * Where bytes begin and how many they are is told in packets.
 */
#ifndef CAISSON_WORKER_H
#define CAISSON_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "channel.h"

enum worker_packet_kind {
  /* to the worker */
  TO_BEGIN = 1, /* value: method; payload: the first part of the parameters, after their whole size in four bytes */
  TO_MORE,      /* the next part of the parameters */
  TO_DATA, /* value: bytes of input; payload: where in the shared memory, in four bytes */
  TO_END,
  /* to the guest */
  FROM_DATA, /* bytes, or one record */
  FROM_RESULT,
  FROM_RESET, /* value: code | errno << 16; payload: text */
  FROM_TAKEN, /* value: bytes of input that have left */
  FROM_FILE,  /* a descriptor to read from; payload: offset, length, result */
  FROM_END,   /* the end of the data of a method that answers first */
};

/* A packet holds the largest result (an extended attribute of 64 KiB with its headers); data comes in smaller parts. */
enum { worker_packet_max = 68 * 1024, worker_data_max = 64 * 1024, worker_header = 8 };

/* Shared memory of one worker: an upload's whole window, so that a worker that is behind holds up nobody. */
enum { worker_input_max = 1024 * 1024 };

/* Begins a method on a worker of the user that the parameters name. */
void worker_begin(struct channel *ch, struct slice params);
/* As root, whatever the parameters say: what only the guest may see. */
void worker_begin_as_root(struct channel *ch, struct slice params);
/* True when the child was a worker. */
bool worker_reaped(pid_t pid);
/* Ends the workers that wait for work. */
void workers_trim(void);

/* file/serve.c: the child's half. Serves requests from the socket until it closes. */
__attribute__((noreturn)) void serve(int fd, const uint8_t *input);

#endif
