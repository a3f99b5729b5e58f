/* Connections inside the sandbox: to its ports, waiting for them, and from its programs to the server's proxy. */
#ifndef CAISSON_PORT_H
#define CAISSON_PORT_H

#include "channel.h"

void port_connect_begin(struct channel *ch, struct slice params);
void port_wait_begin(struct channel *ch, struct slice params);
void proxy_listen_begin(struct channel *ch, struct slice params);

/* carry.c: a socket and a channel, joined in both directions until both have ended. Takes the descriptor. */
bool carry_begin(struct channel *ch, int fd);
/* The same, but nothing is read from the socket before carry_open: the other side has not agreed yet. */
struct carry *carry_prepare(struct channel *ch, int fd);
void carry_open(struct carry *carry);

#endif
