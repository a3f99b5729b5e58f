import { isIPv4, isIPv6 } from 'node:net';

/** One IP address: its one spelling, and its bits as a number. IPv4 inside `::ffff:0:0/96` is IPv4. */
export interface Address {
  readonly family: 4 | 6;
  readonly bits: bigint;
  readonly text: string;
}

/** All addresses that begin with the same bits. */
export interface AddressRange {
  readonly family: 4 | 6;
  readonly bits: bigint;
  readonly prefix: number;
}

const widthOf = { 4: 32, 6: 128 } as const;

/** Reads an address in a plain form: a dotted quad, or any IPv6 spelling without brackets and zone. */
export function readAddress(text: string): Address | undefined {
  if (isIPv4(text)) return { family: 4, bits: bitsOfQuad(text), text };
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const canonical = ipv6Text(text);
  const bits = bitsOfIpv6(canonical);
  return bits >> 32n === mappedPrefix ? ipv4Of(bits) : { family: 6, bits, text: canonical };
}

/** `10.0.0.0/8`, `2001:db8::/32`, or one address, which is the range of itself. */
export function readRange(text: string): AddressRange | undefined {
  const slash = text.indexOf('/');
  if (slash < 0) {
    const one = readAddress(text);
    return one && { family: one.family, bits: one.bits, prefix: widthOf[one.family] };
  }
  const digits = text.slice(slash + 1);
  const base = text.slice(0, slash);
  if (!/^(?:0|[1-9][0-9]{0,2})$/.test(digits)) return undefined;
  const prefix = Number(digits);
  if (isIPv4(base)) return prefix <= 32 ? cut(4, bitsOfQuad(base), prefix) : undefined;
  if (!isIPv6(base) || base.includes('%') || prefix > 128) return undefined;
  const bits = bitsOfIpv6(ipv6Text(base));
  // A range of mapped addresses is a range of IPv4. A wider one speaks of IPv6 alone.
  return prefix >= 96 && bits >> 32n === mappedPrefix ? cut(4, bits & low32, prefix - 96) : cut(6, bits, prefix);
}

export function ipv4Of(bits: bigint): Address {
  const value = Number(bits & low32);
  const text = [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255].join('.');
  return { family: 4, bits: bits & low32, text };
}

export function lastOf({ family, bits, prefix }: AddressRange): bigint {
  return bits | ((1n << BigInt(widthOf[family] - prefix)) - 1n);
}

const low32 = 0xffff_ffffn;
const mappedPrefix = 0xffffn;

function cut(family: 4 | 6, bits: bigint, prefix: number): AddressRange {
  const rest = BigInt(widthOf[family] - prefix);
  return { family, bits: (bits >> rest) << rest, prefix };
}

function bitsOfQuad(text: string): bigint {
  return BigInt(text.split('.').reduce((value, part) => value * 256 + Number(part), 0));
}

/** The URL parser writes every spelling one way: groups in hexadecimal, the longest run of zeros as `::`. */
function ipv6Text(text: string): string {
  return new URL(`http://[${text}]`).hostname.slice(1, -1);
}

function bitsOfIpv6(canonical: string): bigint {
  const [head = '', tail] = canonical.split('::');
  const before = groupsOf(head);
  const after = groupsOf(tail ?? '');
  const zeros = Array<string>(8 - before.length - after.length).fill('0');
  const hex = [...before, ...zeros, ...after].map((group) => group.padStart(4, '0')).join('');
  return BigInt(`0x${hex}`);
}

function groupsOf(half: string): string[] {
  return half === '' ? [] : half.split(':');
}
