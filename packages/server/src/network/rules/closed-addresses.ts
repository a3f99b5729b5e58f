import { networkInterfaces } from 'node:os';
import { CaissonError } from '@caisson/contract';
import { type Address, type AddressRange, readAddress, readRange } from './address.ts';
import { AddressTable } from './address-table.ts';
import { closedRanges, metadataAddresses } from './closed-ranges.ts';
import { embeddedAddresses } from './embedded-addresses.ts';

/**
 * Addresses that nobody reaches unless the operator names them.
 *
 * `opened` are the operator's entries: an address or CIDR range, either with a port (`127.0.0.1:8080`, `10.1.0.0/16`,
 * `10.1.0.0/16:5432`, `[fd00::1]:443`).
 *
 * Laws
 * - A range opens neither the machine's own addresses nor those where a cloud keeps credentials: these are named alone.
 * - An address that carries an IPv4 address is closed where that one is.
 * - What cannot be read is closed.
 */
export class ClosedAddresses {
  #opened = new AddressTable<OpenPorts>();
  #own: () => readonly string[];
  #ownSeen: readonly string[] | undefined;
  #ownTexts = new Set<string>();

  constructor(opened: readonly string[], own: () => readonly string[] = ownAddresses) {
    this.#own = own;
    for (const entry of opened) this.#open(entry);
  }

  refuses(address: string, port: number): boolean {
    return this.reason(address, port) !== undefined;
  }

  /** Why it is closed; undefined when it is not. */
  reason(address: string, port: number): string | undefined {
    const read = readAddress(address);
    if (read === undefined) return 'not an address';
    for (const reached of [read, ...embeddedAddresses(read)]) {
      const reason = this.#reasonOf(reached, port);
      if (reason !== undefined) return reason;
    }
    return undefined;
  }

  #reasonOf(address: Address, port: number): string | undefined {
    const metadata = metadataReasons.get(address.text);
    const special = metadata ?? (this.#isOwn(address) ? 'this machine' : undefined);
    const reason = special ?? closedTable.find(address, (value) => value);
    return reason === undefined || this.#isOpened(address, port, special !== undefined) ? undefined : reason;
  }

  #isOpened(address: Address, port: number, aloneOnly: boolean): boolean {
    const width = address.family === 4 ? 32 : 128;
    const opens = (open: OpenPorts, prefix: number) =>
      (!aloneOnly || prefix === width) && (open.every || open.ports.has(port)) ? true : undefined;
    return this.#opened.find(address, opens) === true;
  }

  #isOwn(address: Address): boolean {
    const own = this.#own();
    if (own !== this.#ownSeen) {
      this.#ownSeen = own;
      this.#ownTexts = new Set(own.flatMap((text) => readAddress(text)?.text ?? []));
    }
    return this.#ownTexts.has(address.text);
  }

  #open(entry: string): void {
    const read = readOpening(entry);
    if (read === undefined) {
      throw new CaissonError('request_invalid', `\`${entry}\` is not an address or CIDR range`, {
        hint: 'Write an address or a range, with or without a port: `10.1.0.0/16`, `127.0.0.1:8080`, `[fd00::1]:443`.',
      });
    }
    const open = this.#opened.at(read.range, () => ({ every: false, ports: new Set() }));
    if (read.port === undefined) open.every = true;
    else open.ports.add(read.port);
  }
}

interface OpenPorts {
  every: boolean;
  readonly ports: Set<number>;
}

/**
 * The addresses of this machine's interfaces, remembered for a few seconds: they change rarely, and asking takes longer
 * than a decision. Loopback is not among them: its whole range is closed.
 */
export function ownAddresses(): readonly string[] {
  const now = performance.now();
  if (remembered === undefined || now > remembered.until) {
    const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    const texts = own.filter((one) => !one.internal).map((one) => one.address);
    remembered = { texts, until: now + rememberedMs };
  }
  return remembered.texts;
}

/** Longer would leave a new address of the machine open for that time. */
const rememberedMs = 3000;
let remembered: { readonly texts: readonly string[]; readonly until: number } | undefined;

const closedTable = new AddressTable<string>();
for (const [text, reason] of closedRanges) {
  const range = readRange(text);
  if (range !== undefined) closedTable.at(range, () => reason);
}
const metadataReasons = new Map(metadataAddresses);

function readOpening(entry: string): { readonly range: AddressRange; readonly port?: number } | undefined {
  const whole = readRange(entry);
  if (whole !== undefined) return { range: whole };
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^[\]]+)):([1-9][0-9]{0,4})$/.exec(entry) ?? [];
  const port = Number(digits);
  const range = port <= 65_535 ? readRange(bracketed ?? plain ?? '') : undefined;
  return range && { range, port };
}
