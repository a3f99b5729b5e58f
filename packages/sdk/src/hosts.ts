import type { HostReport, ReapReport, StaleReport } from '@caisson/contract';
import type { CallOptions } from './call.ts';
import type { Connection } from './connection.ts';
import { given } from './given.ts';

export interface ReapOptions extends CallOptions {
  /** End what was found; otherwise it is only told. */
  readonly apply?: boolean | undefined;
  /** Also sandboxes that are older than this. */
  readonly agedSeconds?: number | undefined;
}

/** The machine that a server runs on; for keys with the scope `admin`. */
export class Hosts {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Load, memory, disk, sandboxes, drivers. */
  inspect(options: CallOptions = {}): Promise<HostReport> {
    return this.#connection.call('host.inspect', options);
  }

  /** What record, backends and storage disagree about, and sandboxes of a great age. */
  stale(options: CallOptions & { readonly agedSeconds?: number | undefined } = {}): Promise<StaleReport> {
    const { agedSeconds, ...calls } = options;
    return this.#connection.call('host.stale', { query: given({ agedSeconds }), ...calls });
  }

  /** The same, and with `apply` its end. */
  reap(options: ReapOptions = {}): Promise<ReapReport> {
    const { apply, agedSeconds, ...calls } = options;
    return this.#connection.call('host.reap', { body: given({ apply, agedSeconds }), ...calls });
  }
}
