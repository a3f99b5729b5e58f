#include "batch.h"

void batch_open(struct batch *batch, uint16_t tag, unsigned items_max) {
  batch->tag = tag;
  batch->items = 0;
  batch->items_max = items_max;
  batch->writer = writer_on(batch->buffer, sizeof batch->buffer);
}

void batch_flush(struct batch *batch) {
  if (batch->items > 0) reply_data(batch->writer.at, batch->writer.size);
  batch_open(batch, batch->tag, batch->items_max);
}

void batch_item(struct batch *batch) {
  batch->before = batch->writer.size;
  batch->begin = write_begin(&batch->writer, batch->tag);
}

bool batch_end(struct batch *batch) {
  write_end(&batch->writer, batch->begin);
  if (batch->writer.full) {
    batch->writer.full = false;
    batch->writer.size = batch->before;
    /* Every item fits an empty record; one that does not is left out rather than tried for ever. */
    bool was_empty = batch->items == 0;
    batch_flush(batch);
    return was_empty;
  }
  batch->items++;
  if (batch->items >= batch->items_max) batch_flush(batch);
  return true;
}
