import type { CaissonEvent } from '@caisson/contract';

/**
 * Where events go besides those who read them here: a webhook, a file.
 *
 * Vocabulary
 * - A **sink** takes one event at a time from each subject. It knows nothing of positions, retries or order.
 * - The **pump** (sink-pump.ts) reads the log for a sink, keeps how far it has come, and tries again what failed.
 *
 * Laws of a sink, which test/conformance/describe-sink.ts holds against each
 * 1. `deliver` resolves when the other side has the event, the whole of it, and would still have it if this server were
 *    killed in the next instant. Before that it does not resolve.
 * 2. What cannot be delivered rejects, with the reason in words that may be shown to whoever owns the sink. Nothing is
 *    tried twice within one call, but for a connection that was closed before anything of the event was read.
 * 3. An event may come again, after a crash or because somebody asked for it: that is not an error.
 * 4. Events of different subjects may come at the same time, up to `parallel`; those of one subject come one after the
 *    other, each after the last has resolved.
 * 5. A signal that is aborted ends the call soon, by rejecting. `close` ends all of them; after it every call rejects.
 *
 * Example: `new FileSink('events.jsonl').deliver(event, signal)` appends one line and resolves when it is on the disk.
 */
export interface EventSink {
  /** How many deliveries it may have at a time. */
  readonly parallel: number;
  deliver(event: CaissonEvent, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** Why an event was not delivered, in words for the owner of the sink. */
export class NotDelivered extends Error {}

/** The same of any error: what is not meant to be shown is not. */
export function reasonOf(error: unknown): string {
  return error instanceof NotDelivered
    ? error.message
    : 'a defect of Caisson stopped the delivery; the log has the rest';
}
