import { BlockList, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

const ranges = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.168.0.0/16', '198.18.0.0/15', '224.0.0.0/4', '240.0.0.0/4', '::/96', '64:ff9b::/96', '2002::/16'],
  ...['2001::/32', 'fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8'],
];

function family(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}

export function addTo(list: BlockList, entry: string): void {
  const [address = '', prefix] = entry.split('/');
  if (prefix === undefined) list.addAddress(address, family(address));
  else list.addSubnet(address, Number(prefix), family(address));
}

/** Addresses that nobody reaches unless the operator names them. */
export class ClosedAddresses {
  readonly #closed = new BlockList();
  readonly #opened: { list: BlockList; port: number | undefined }[];
  readonly #own: () => readonly string[];

  constructor(opened: readonly string[], own: () => readonly string[] = ownAddresses) {
    for (const range of ranges) addTo(this.#closed, range);
    this.#opened = opened.map((text) => {
      const found = /^\[?([0-9a-f.:]+?)\]?(\/\d+)?(?::(\d+))?$/i.exec(text);
      const list = new BlockList();
      addTo(list, `${found?.[1]}${found?.[2] ?? ''}`);
      return { list, port: found?.[3] === undefined ? undefined : Number(found[3]) };
    });
    this.#own = own;
  }

  refuses(address: string, port: number): boolean {
    const kind = family(address);
    const opened = this.#opened.some((one) => (one.port ?? port) === port && one.list.check(address, kind));
    return !opened && (this.#closed.check(address, kind) || this.#own().includes(address));
  }
}

export function ownAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
}
