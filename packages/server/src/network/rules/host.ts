import { readAddress } from './address.ts';

/** Where a program wants to go. A host is a name or an address, never both. */
export type Host =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'address'; readonly address: string };

export interface Target {
  readonly host: Host;
  readonly port: number;
}

/** A name of 253 characters with its last dot; what is longer is looked at no further. */
const longestText = 254;

/**
 * One meaning, one spelling; undefined for what no careful program would send. `text` is what stood in CONNECT, Host, a
 * URL or SOCKS, without port.
 *
 * What is a name here is no address to any resolver: each spelling of an address (`127.1`, `0x7f000001`, `１２７。0.0.1`)
 * has become one, and `localhost` with all below it is the loopback address without being asked for.
 */
export function readHost(text: string): Host | undefined {
  if (text.length > longestText || hasForeignSign(text)) return undefined;
  if (text.startsWith('[') || text.includes(':')) return readIpv6(text);
  const ascii = toAscii(text);
  if (ascii === undefined) return undefined;
  const name = ascii.endsWith('.') ? ascii.slice(0, -1) : ascii;
  const address = readAddress(name);
  if (address !== undefined) return { kind: 'address', address: address.text };
  if (name === 'localhost' || name.endsWith('.localhost')) return { kind: 'address', address: '127.0.0.1' };
  return isName(name) ? { kind: 'name', name } : undefined;
}

/** The name, or the address; IPv6 without brackets. */
export function hostText(host: Host): string {
  return host.kind === 'name' ? host.name : host.address;
}

/** `host:port`, `[v6]:port`, `host` (with `defaultPort`); undefined when malformed. */
export function readTarget(text: string, defaultPort?: number): Target | undefined {
  const end = text.startsWith('[') ? text.indexOf(']') + 1 : text.indexOf(':');
  const hostEnd = end < 0 || end === text.length ? text.length : end;
  const rest = text.slice(hostEnd);
  const port = rest === '' ? defaultPort : readPort(rest);
  if (port === undefined) return undefined;
  const host = readHost(text.slice(0, hostEnd));
  return host && { host, port };
}

/** As a rule writes it: `example.com:443`, `[2001:db8::1]:443`. */
export function targetText({ host, port }: Target): string {
  const text = hostText(host);
  return text.includes(':') ? `[${text}]:${port}` : `${text}:${port}`;
}

function readPort(text: string): number | undefined {
  if (!/^:[1-9][0-9]{0,4}$/.test(text)) return undefined;
  const port = Number(text.slice(1));
  return port <= 65_535 ? port : undefined;
}

function readIpv6(text: string): Host | undefined {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  const address = bare.includes(':') ? readAddress(bare) : undefined;
  return address && { kind: 'address', address: address.text };
}

/** Signs that end a host in a URL, hide in it or mean something to another reader. The URL parser would forgive them. */
function hasForeignSign(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code <= 0x20 || (code >= 0x7f && code <= 0xa0) || foreignSigns.has(code)) return true;
  }
  return text === '';
}

const foreignSigns = new Set([...'%@/\\#?<>"\'`^|{}'].map((sign) => sign.charCodeAt(0)));

/** As browsers read a host: Unicode to punycode, every spelling of IPv4 to a dotted quad. */
function toAscii(text: string): string | undefined {
  const url = `http://${text}/`;
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}

function isName(name: string): boolean {
  return name.length <= 253 && name.split('.').every((label) => labelPattern.test(label));
}

const labelPattern = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
