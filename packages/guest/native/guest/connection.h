/*
 * The one connection to the server. Frames in (receive.c), frames out (transmit.c), dialling and the handshake (dial.c),
 * relays that bring one (relay-door.c).
 * There is one at most, so its state is one static struct.
 */
#ifndef CAISSON_CONNECTION_H
#define CAISSON_CONNECTION_H

#include "channel.h"
#include "loop.h"

enum { channel_buckets = 1024 };

struct connection {
  struct watch watch; /* fd < 0: there is none */
  /* Where a relay has handed its own over: then the frames go here, and `watch` only tells that the relay lives. */
  struct watch pipe_in, pipe_out;
  bool greeting; /* of a relay that has not yet said what it brings */
  bool established, closing;
  uint32_t peer_window, peer_channels;
  uint32_t last_peer_id, last_own_id;
  uint32_t open_by_peer, open_by_us;
  struct channel *by_id[channel_buckets];
  /* Channels that may have data to send, in turn. */
  struct channel *ready_head, *ready_tail;
  size_t ready_count;
  struct channel *grants;
  int64_t heard_at;
  bool ping_unanswered;
  bool goaway_received;
  bool asked; /* something small came in this turn: its answer leaves now, and the next may follow at once */
};

extern struct connection connection;

static inline int connection_in(void) {
  return connection.pipe_in.fd >= 0 ? connection.pipe_in.fd : connection.watch.fd;
}
static inline int connection_out(void) {
  return connection.pipe_out.fd >= 0 ? connection.pipe_out.fd : connection.watch.fd;
}

/* dial.c */
struct dial_options {
  const char *socket_path;
  const char *sandbox_id;
  uint32_t incarnation;
  int secret_fd;
  const char *relay_name;
};
bool dial_begin(const struct dial_options *options);
const uint8_t *boot_id(void);
/* Ends the connection; every channel is gone. The next dial follows by itself. */
void connection_lost(void);
void connection_violation(int violation);
/* A relay has come: it takes the place of whatever connection there is. False when the guest wants none. */
bool connection_replace(int fd);
void connection_hello(void);
/* Erases what a child must not have. */
void dial_forget_secrets(void);
void dial_stop(void);

/* relay-door.c */
bool relay_listen(const char *name);
/* The first word of a relay is here. */
void relay_greeted(void);
void relay_pipes_close(void);

/* receive.c */
void receive_reset(void);
void receive_ready(void);
void receive_trim(void);
void handshake_frame(uint8_t type, struct slice payload);

/* transmit.c */
void transmit_reset(void);
/* Queues one frame that is not data; those go before data. It leaves at the end of this turn. */
void transmit_frame(uint8_t type, uint32_t channel, const void *payload, size_t size);
/* The same for what nobody waits for: it leaves with the next frame that somebody does, or a moment later. */
void transmit_later(uint8_t type, uint32_t channel, const void *payload, size_t size);
void transmit_grant(struct channel *ch);
void transmit_ready(struct channel *ch);
void transmit_unready(struct channel *ch);
void transmit_flush(void);
void transmit_trim(void);
bool transmit_idle(void);
void pong_queue(const uint8_t *payload);

/* channel.c */
struct channel *channel_find(uint32_t id);
struct channel *channel_create(uint32_t id, enum role role, const struct caisson_method *method, bool input,
                               uint32_t our_window, uint32_t peer_window);
void channel_received(struct channel *ch, uint8_t frame, struct slice payload);
void channels_lost(void);

/* methods.c */
const struct caisson_method *method_find(uint16_t number);
method_begin method_handler(uint16_t number);

#endif
