import { Resolver as CaresResolver } from 'node:dns/promises';
import { readFile, stat } from 'node:fs/promises';
import type { Resolver } from '../egress.ts';
import { readHost } from '../rules/host.ts';

/** One try; a second one follows. Longer and programs inside have given up before they are told. */
const lookupMs = 3_000;
const tries = 2;
/** How long what was read of the hosts file counts without another look. */
const hostsFreshMs = 5_000;
/** A hosts file that blocks a million names is not worth holding. */
const hostsBytesMax = 1024 * 1024;
/** Addresses of one name that are looked at. */
const addressesMax = 32;

export interface MachineResolverOptions {
  readonly hostsFile?: string | undefined;
  /** Name servers as `address:port`; those of the machine when absent. */
  readonly servers?: readonly string[] | undefined;
}

/**
 * Names as this machine sees them: its hosts file, then its name servers. It asks them over sockets of its own: the system's
 * lookup takes a thread of the few that files need too, and one slow name server would hold all of them.
 */
export class MachineResolver implements Resolver {
  readonly #hostsFile: string;
  readonly #cares = new CaresResolver({ timeout: lookupMs, tries });
  #hosts: ReadonlyMap<string, readonly string[]> = new Map();
  #hostsOf = -1;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(options: MachineResolverOptions = {}) {
    this.#hostsFile = options.hostsFile ?? '/etc/hosts';
    if (options.servers) this.#cares.setServers(options.servers);
  }

  async resolve(name: string, signal: AbortSignal): Promise<readonly string[]> {
    signal.throwIfAborted();
    const written = (await this.#readHosts()).get(name);
    if (written) return written;
    const none = (): string[] => [];
    const found = await Promise.all([this.#cares.resolve4(name).catch(none), this.#cares.resolve6(name).catch(none)]);
    signal.throwIfAborted();
    return found.flat().slice(0, addressesMax);
  }

  async #readHosts(): Promise<ReadonlyMap<string, readonly string[]>> {
    const now = performance.now();
    if (now - this.#lookedAt < hostsFreshMs) return this.#hosts;
    this.#lookedAt = now;
    try {
      const { mtimeMs, size } = await stat(this.#hostsFile);
      if (mtimeMs === this.#hostsOf || size > hostsBytesMax) return this.#hosts;
      this.#hosts = parseHosts(await readFile(this.#hostsFile, 'utf8'));
      this.#hostsOf = mtimeMs;
    } catch {
      // A machine without a hosts file has its name servers.
      this.#hosts = new Map();
      this.#hostsOf = -1;
    }
    return this.#hosts;
  }
}

/** Name → addresses. What does not read as a name or an address is left out, as every resolver does. */
export function parseHosts(text: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [first = '', ...names] = line.replace(/#.*/, '').split(/\s+/).filter(Boolean);
    const address = readHost(first);
    if (address?.kind !== 'address') continue;
    for (const text of names) {
      const host = readHost(text);
      if (host?.kind !== 'name') continue;
      const addresses = found.get(host.name);
      if (!addresses) found.set(host.name, [address.address]);
      else if (addresses.length < addressesMax) addresses.push(address.address);
    }
  }
  return found;
}
