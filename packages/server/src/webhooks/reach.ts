import { CaissonError } from '@caisson/contract';
import { NotDelivered } from '../events/sink.ts';
import type { Resolver } from '../network/egress.ts';
import { ClosedAddresses } from '../network/rules/closed-addresses.ts';
import { hostText, readHost } from '../network/rules/host.ts';

/** Where a delivery goes: exactly these addresses, which were decided on. */
export interface Reached {
  readonly addresses: readonly string[];
  readonly port: number;
  /** The name that its certificate must be for; absent where it is plain HTTP. */
  readonly servername?: string | undefined;
}

/**
 * Which addresses a webhook may have: public ones, with TLS. The rest is closed as it is for sandboxes, unless the operator
 * opens it; what is opened may also be plain HTTP.
 */
export class Reach {
  readonly #resolver: Resolver;
  readonly #closed: ClosedAddresses;
  readonly #closedToAll = new ClosedAddresses([]);
  readonly #hasOpened: boolean;

  constructor(resolver: Resolver, opened: readonly string[]) {
    this.#resolver = resolver;
    this.#closed = new ClosedAddresses(opened);
    this.#hasOpened = opened.length > 0;
  }

  /** Refuses what can be told from the address alone; a name is resolved when something is delivered. */
  require(url: URL): void {
    const host = readHost(url.hostname);
    const why =
      host === undefined
        ? `${url.hostname} is not a host`
        : host.kind === 'address'
          ? this.#refusal(host.address, url)
          : url.protocol === 'http:' && !this.#hasOpened
            ? 'it must be https'
            : undefined;
    if (why !== undefined) throw new CaissonError('webhook_url_refused', why);
  }

  /** Throws `NotDelivered` when nothing of it may be reached. */
  async find(url: URL, signal: AbortSignal): Promise<Reached> {
    const { name, found } = await addressesOf(this.#resolver, url, signal);
    const refusals = found.map((address) => this.#refusal(address, url));
    const addresses = found.filter((_, n) => refusals[n] === undefined);
    if (addresses.length === 0) throw new NotDelivered(refusals[0] ?? 'it may not be reached');
    return reached(url, name, addresses);
  }

  #refusal(address: string, url: URL): string | undefined {
    const port = portOf(url);
    const reason = this.#closed.reason(address, port);
    if (reason !== undefined) return `${address} may not be reached: ${reason}`;
    return url.protocol === 'http:' && !this.#closedToAll.refuses(address, port) ? 'it must be https' : undefined;
  }
}

/** For an address that the operator chose: whatever it is, it is meant. */
export class OperatorReach {
  readonly #resolver: Resolver;

  constructor(resolver: Resolver) {
    this.#resolver = resolver;
  }

  async find(url: URL, signal: AbortSignal): Promise<Reached> {
    const { name, found } = await addressesOf(this.#resolver, url, signal);
    return reached(url, name, found);
  }
}

async function addressesOf(resolver: Resolver, url: URL, signal: AbortSignal) {
  const host = readHost(url.hostname);
  if (host === undefined) throw new NotDelivered(`${url.hostname} is not a host`);
  const name = hostText(host);
  const found = host.kind === 'address' ? [host.address] : await resolver.resolve(name, signal).catch(() => []);
  if (found.length === 0) throw new NotDelivered(`${name} has no address`);
  return { name, found };
}

function reached(url: URL, name: string, addresses: readonly string[]): Reached {
  return { addresses, port: portOf(url), ...(url.protocol === 'https:' ? { servername: name } : {}) };
}

function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}
