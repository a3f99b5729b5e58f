import type { CaissonEvent } from '@caisson/contract';
import type { EventFilter } from '../store/events.ts';
import type { Store } from '../store/store.ts';
import { followLog } from './follow-log.ts';

type FeedFilter = Pick<EventFilter, 'tenant' | 'project' | 'subject' | 'types' | 'labels'>;

/** The log of events as a live stream. */
export class EventFeed {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Every event after `after`, then each new one, until the signal. */
  follow(filter: FeedFilter, after: number, signal: AbortSignal): AsyncGenerator<CaissonEvent> {
    const store = this.#store;
    const log = {
      list: (position: number, limit: number) => store.events.list({ ...filter, after: position, limit }),
      subscribe: (wake: () => void) =>
        store.onEvent((event) => {
          if (matches(filter, event)) wake();
        }),
    };
    return followLog(log, after, signal);
  }
}

function matches(filter: FeedFilter, event: CaissonEvent): boolean {
  if (filter.tenant !== undefined && filter.tenant !== event.tenant) return false;
  if (filter.project !== undefined && filter.project !== event.project) return false;
  if (filter.types !== undefined && !filter.types.includes(event.type)) return false;
  return filter.subject === undefined || filter.subject === event.subject;
}
