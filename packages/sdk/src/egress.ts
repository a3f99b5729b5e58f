import { type EgressRecord, type EgressUsage, type Route, routes } from '@caisson/contract';
import type { CallOptions } from './call.ts';
import type { Connection } from './connection.ts';
import { type FollowOptions, followLog } from './event-stream.ts';
import { given } from './given.ts';
import { eachItem } from './pages.ts';

export interface EgressLogOptions extends CallOptions {
  /** Only after this position. */
  readonly after?: number | undefined;
  readonly verdict?: EgressRecord['verdict'] | undefined;
}

export interface EgressFollowOptions extends FollowOptions {
  readonly verdict?: EgressRecord['verdict'] | undefined;
}

/** The largest page that the API gives: the log is read to its end. */
const pageLimit = 200;

/** What one sandbox wanted to reach, what was decided, and how much went where. */
export class Egress {
  readonly #connection: Connection;
  readonly #params: { readonly id: string };

  constructor(connection: Connection, sandbox: string) {
    this.#connection = connection;
    this.#params = { id: sandbox };
  }

  /** What was decided so far, oldest first. */
  log(options: EgressLogOptions = {}): AsyncGenerator<EgressRecord, void, undefined> {
    const { after, verdict, ...calls } = options;
    const page = (cursor: string | undefined) =>
      this.#connection.call('egress.log', {
        params: this.#params,
        query: { limit: pageLimit, ...given({ after: cursor, verdict }) },
        ...calls,
      });
    return eachItem(page, after === undefined ? undefined : String(after));
  }

  /** What is decided from now on, without end; with `after` also what was decided since. */
  follow(options: EgressFollowOptions = {}): AsyncGenerator<EgressRecord, void, undefined> {
    const { verdict, ...follow } = options;
    const route: Route = routes['egress.log'];
    const message = { params: this.#params, query: given({ verdict }) };
    return followLog<EgressRecord>(this.#connection.transport, route, message, follow);
  }

  /** Bytes, connections and decisions by host, and the limits. */
  usage(options: CallOptions = {}): Promise<EgressUsage> {
    return this.#connection.call('egress.usage', { params: this.#params, ...options });
  }
}
