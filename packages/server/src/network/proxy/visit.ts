import type { Duplex } from 'node:stream';
import type { BoundSecrets } from '../egress.ts';
import type { Target } from '../rules/host.ts';
import type { Client } from './client.ts';
import type { Gate } from './gate.ts';
import type { Spare } from './upstream-pool.ts';

/** What a connection is for, known before the first request on it: then each request must be for that. */
export interface Fixed {
  readonly target: Target;
  /** Its TLS ends here, and begins again with these in its requests. */
  readonly secrets?: BoundSecrets | undefined;
  readonly spare: Spare;
}

/** One client at one gate. */
export interface Visit {
  readonly gate: Gate;
  readonly client: Client;
  readonly fixed?: Fixed | undefined;
  /** Reads what comes on the stream as requests to one target. */
  serveFixed(stream: Duplex, fixed: Fixed): void;
}
