/* Records of many items: an item that does not fit sends the record and begins the next. */
#ifndef CAISSON_BATCH_H
#define CAISSON_BATCH_H

#include "request.h"

struct batch {
  uint8_t buffer[record_bytes];
  struct writer writer;
  unsigned items, items_max;
  size_t begin, before;
  uint16_t tag;
};

void batch_open(struct batch *batch, uint16_t tag, unsigned items_max);
/* Writes go to batch->writer between the two. batch_end is false when the item did not fit: write it again. */
void batch_item(struct batch *batch);
bool batch_end(struct batch *batch);
void batch_flush(struct batch *batch);

#endif
