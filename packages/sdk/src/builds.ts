import {
  type Build,
  type BuildDetail,
  type BuildLogItem,
  type BuildState,
  type Route,
  routes,
} from '@caisson/contract';
import type { CallOptions } from './call.ts';
import type { Connection } from './connection.ts';
import { type FollowOptions, followLog } from './event-stream.ts';
import { given } from './given.ts';
import { eachItem, type Page } from './pages.ts';
import type { PageOptions } from './sandboxes.ts';

export interface BuildFilter {
  readonly project?: string | undefined;
  readonly state?: BuildState | undefined;
}

/** The largest page that the API gives: a log is read to its end. */
const pageLimit = 200;

/** Builds of images, in the caller's project. */
export class Builds {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Every build that fits, newest first, read page by page. */
  list(filter: BuildFilter = {}, options: PageOptions = {}): AsyncGenerator<Build, void, undefined> {
    return eachItem((after) => this.page(filter, { ...options, after }), options.after);
  }

  page(filter: BuildFilter = {}, options: PageOptions = {}): Promise<Page<Build>> {
    const { limit, after, ...rest } = options;
    return this.#connection.call('build.list', { query: given({ ...filter, limit, after }), ...rest });
  }

  /** One, with its plan, its steps and what is inside the image. */
  get(id: string, options: CallOptions = {}): Promise<BuildDetail> {
    return this.#connection.call('build.get', { params: { id }, ...options });
  }

  /** Stops it; sandboxes that wait for it fail. */
  cancel(id: string, options: CallOptions = {}): Promise<Build> {
    return this.#connection.call('build.cancel', { params: { id }, ...options });
  }

  /** Its log so far, oldest first. */
  logs(
    id: string,
    options: CallOptions & { readonly after?: number | undefined } = {},
  ): AsyncGenerator<BuildLogItem, void, undefined> {
    const { after, ...calls } = options;
    const page = (cursor: string | undefined) =>
      this.#connection.call('build.logs', {
        params: { id },
        query: { limit: pageLimit, ...given({ after: cursor }) },
        ...calls,
      });
    return eachItem(page, after === undefined ? undefined : String(after));
  }

  /** Its log from the beginning and as it is written, until the build has ended. */
  async *follow(id: string, options: FollowOptions = {}): AsyncGenerator<BuildLogItem, void, undefined> {
    const route: Route = routes['build.logs'];
    const over = new AbortController();
    const { signal: outer } = options;
    const signal = outer ? AbortSignal.any([outer, over.signal]) : over.signal;
    const items = followLog<BuildLogItem>(
      this.#connection.transport,
      route,
      { params: { id } },
      { after: 0, ...options, signal },
    );
    try {
      for await (const item of items) {
        yield item;
        if (item.kind === 'ended') return;
      }
    } finally {
      over.abort();
    }
  }
}
