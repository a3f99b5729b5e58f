import type { PreviewDoor } from '../preview/preview-door.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Listener } from './listener.ts';

/** A client that takes longer than this to send its request is stuck or means harm. */
export const defaultRequestTimeoutMs = 30_000;

export interface HttpOptions {
  readonly listener: Listener;
  readonly allowHosts: readonly string[];
  readonly log: Logger;
  /** Ends the streams, which would otherwise keep the server from closing. */
  readonly shutdown: AbortSignal;
  /** How long a client may take to send its request. */
  readonly requestTimeoutMs?: number | undefined;
  /** Where requests for previews go; only addresses have any. */
  readonly previews?: PreviewDoor | undefined;
}
