/*
 * A channel and its owner: the code that does the work of one method.
 *
 * Laws
 * - An owner is attached when its method begins, and detached by its own terminal frame (channel_answer of a method that
 *   answers alone or last, channel_fail), by `gone` (the peer reset, or the connection is lost), or when both halves have
 *   ended. After that it must not touch the channel: it may be freed.
 * - `data` hands over bytes that the owner must take, because the window granted them; it says with channel_taken when
 *   they have left the guest.
 * - `pull` shows what could be sent now and changes nothing; `sent` says how much of it went. Between the two the bytes
 *   stay where they are.
 */
#ifndef CAISSON_CHANNEL_H
#define CAISSON_CHANNEL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../wire/channel-state.h"
#include "../wire/message.h"
#include "../wire/writer.h"

struct channel;

struct channel_ops {
  void (*data)(struct channel *ch, const uint8_t *at, size_t size);
  /* Where the next bytes of data may be read to at once, and how many; `data` is then told of them there. May be NULL. */
  uint8_t *(*place)(struct channel *ch, size_t *size);
  void (*end)(struct channel *ch);
  void (*result)(struct channel *ch); /* only of channels that the guest opened */
  /* Up to max bytes in at most two pieces; of records one whole, or nothing when it does not fit. */
  size_t (*pull)(struct channel *ch, size_t max, struct slice pieces[2]);
  void (*sent)(struct channel *ch, size_t size);
  /* Credit came: bytes that the peer has seen, beyond the initial window. */
  void (*credit)(struct channel *ch, uint32_t size);
  void (*gone)(struct channel *ch);
};

struct channel {
  uint32_t id;
  enum role role; /* ours */
  const struct caisson_method *method;
  struct channel_state state;
  uint32_t receive_window, held, ungranted, grant;
  const struct channel_ops *ops;
  void *owner;
  struct channel *next_by_id;
  struct channel *next_ready, *prev_ready;
  struct channel *next_grant;
  bool is_ready, in_grants;
};

typedef void (*method_begin)(struct channel *ch, struct slice params);

void channel_own(struct channel *ch, const struct channel_ops *ops, void *owner);
/* The result. Detaches, unless the method answers first. */
void channel_answer(struct channel *ch, const struct writer *result);
/* The same where nobody waits for the answer, or for what follows it rather. */
void channel_answer_later(struct channel *ch, const struct writer *result);
void channel_answer_nothing(struct channel *ch);
/* The end of our data. True when the channel is over and the owner detached. */
bool channel_end(struct channel *ch);
bool channel_end_later(struct channel *ch);
void channel_fail(struct channel *ch, uint8_t code, int error, const char *format, ...)
  __attribute__((format(printf, 4, 5)));
/* The failure that errno tells. */
void channel_fail_errno(struct channel *ch, int error, const char *what);
void channel_taken(struct channel *ch, size_t size);
void channel_ready(struct channel *ch);
uint32_t channel_credit(const struct channel *ch);

#endif
