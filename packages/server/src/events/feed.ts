import type { CaissonEvent } from '@caisson/contract';
import type { EventFilter } from '../store/events.ts';
import type { Store } from '../store/store.ts';

/** Events are read from the log in pages of this many: enough to catch up quickly, few enough to hold for a slow reader. */
const pageSize = 200;

type FeedFilter = Pick<EventFilter, 'tenant' | 'project' | 'subject'>;

/**
 * The log as a live stream. A reader always reads from the log, from its own position; what is committed meanwhile only
 * wakes it up. So a slow reader holds one page in memory and misses nothing.
 */
export class EventFeed {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Every event after `after`, then each new one, until the signal. */
  async *follow(filter: FeedFilter, after: number, signal: AbortSignal): AsyncGenerator<CaissonEvent> {
    let position = after;
    let woken = false;
    let wake = () => {};
    const unsubscribe = this.#store.onEvent((event) => {
      if (!matches(filter, event)) return;
      woken = true;
      wake();
    });
    const abort = () => wake();
    signal.addEventListener('abort', abort);
    try {
      while (!signal.aborted) {
        woken = false;
        const page = await this.#store.events.list({ ...filter, after: position, limit: pageSize });
        for (const event of page) {
          if (signal.aborted) return;
          position = event.position;
          yield event;
        }
        if (page.length === pageSize || woken) continue;
        await new Promise<void>((resolve) => {
          wake = resolve;
          if (signal.aborted || woken) resolve();
        });
      }
    } finally {
      unsubscribe();
      signal.removeEventListener('abort', abort);
    }
  }
}

function matches(filter: FeedFilter, event: CaissonEvent): boolean {
  if (filter.tenant !== undefined && filter.tenant !== event.tenant) return false;
  if (filter.project !== undefined && filter.project !== event.project) return false;
  return filter.subject === undefined || filter.subject === event.subject;
}
