import type { Guests } from '../sandbox/guests.ts';
import type { Sandboxes } from '../sandbox/sandboxes.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Keys } from '../tenancy/keys.ts';
import { PreviewAddresses, parsePreviewDomain } from './preview-address.ts';
import { PreviewDoor } from './preview-door.ts';
import { PreviewUrls } from './preview-urls.ts';
import { SharedPorts } from './shared-ports.ts';
import { PassSigner, passSecret } from './signed-pass.ts';

export interface PreviewOptions {
  /** Names under which previews are reached; `localhost` when there is none. */
  readonly domains?: readonly string[] | undefined;
  /** Addresses of proxies in front whose word about their clients counts. */
  readonly proxies?: readonly string[] | undefined;
}

export interface PreviewParts {
  readonly store: Store;
  readonly sandboxes: Sandboxes;
  readonly guests: Guests;
  readonly keys: Keys;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly shutdown: AbortSignal;
  /** The file of the secret that passes are signed with. */
  readonly secretFile: string;
}

export interface Previews {
  readonly ports: SharedPorts;
  readonly door: PreviewDoor;
  readonly urls: PreviewUrls;
}

/** Everything that previews need, put together. */
export function openPreviews(parts: PreviewParts, options: PreviewOptions): Previews {
  const domains = (options.domains?.length ? options.domains : ['localhost']).map(parsePreviewDomain);
  const signer = new PassSigner(passSecret(parts.secretFile));
  const urls = new PreviewUrls(domains);
  const ports = new SharedPorts(parts.store, parts.sandboxes, signer, urls);
  parts.shutdown.addEventListener('abort', () => ports.stop(), { once: true });
  const addresses = new PreviewAddresses(domains);
  const door = new PreviewDoor({ ...parts, addresses, ports, signer, proxies: options.proxies ?? [] });
  return { ports, door, urls };
}
