import type { Fault } from './problems.ts';
import { quote } from './quote.ts';
import type { TextRule } from './text.ts';

/**
 * One entry of `network.allow` or `network.deny`:
 *   `preset:npm`, or the bare word `npm` for the same; `example.com`; `*.example.com`; `10.0.0.1`; `10.0.0.0/8`;
 *   `2001:db8::/32`; and a domain or address with a port: `example.com:443`, `[2001:db8::1]:443`.
 *
 * A word without a dot is a preset and not a host, except `localhost`; which presets exist is for the network layer.
 * The canonical form is lower case with `preset:` written out, so that one meaning has one spelling and one digest.
 */
export const egressEntryRule: TextRule = {
  noun: 'A network entry',
  maxBytes: 261,
  check: faultOfEntry,
  canonical: canonicalEntry,
};

const presetPattern = /^(?:preset:)?[a-z][a-z0-9-]{0,62}$/;
const label = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?';
const domainPattern = new RegExp(`^(?:\\*\\.)?(?:${label}\\.)*${label}$`);
const portPattern = /^(?:[1-9][0-9]{0,4})$/;

/** The one spelling of an entry that `egressEntryRule` accepts. */
export function canonicalEntry(text: string): string {
  const entry = text.toLowerCase();
  return presetPattern.test(entry) && !entry.startsWith('preset:') && entry !== 'localhost' ? `preset:${entry}` : entry;
}

function faultOfEntry(text: string): Fault | undefined {
  const entry = text.toLowerCase();
  // Lower case would turn some foreign letters into ASCII ones, so only ASCII is looked at.
  const known = presetPattern.test(entry) || isHost(entry) || isCidr(entry) || isHostWithPort(entry);
  if (known && /^[!-~]+$/.test(text)) return undefined;
  const hint = entry.includes('://') ? 'Write the host alone, without scheme and path.' : undefined;
  const message = `${quote(text)} is not a domain, \`*.domain\`, address, CIDR range or preset.`;
  return hint === undefined ? { code: 'invalid_value', message } : { code: 'invalid_value', message, hint };
}

function isHost(text: string): boolean {
  return isIpv4(text) || isIpv6(text) || isDomain(text);
}

function isHostWithPort(text: string): boolean {
  const colon = text.lastIndexOf(':');
  if (colon < 1) return false;
  const host = text.slice(0, colon);
  const port = text.slice(colon + 1);
  if (!portPattern.test(port) || Number(port) > 65_535) return false;
  if (host.startsWith('[') && host.endsWith(']')) return isIpv6(host.slice(1, -1));
  return isIpv4(host) || isDomain(host);
}

function isCidr(text: string): boolean {
  const slash = text.indexOf('/');
  if (slash < 0) return false;
  const address = text.slice(0, slash);
  const prefix = text.slice(slash + 1);
  if (!/^(?:0|[1-9][0-9]{0,2})$/.test(prefix)) return false;
  return (isIpv4(address) && Number(prefix) <= 32) || (isIpv6(address) && Number(prefix) <= 128);
}

function isDomain(text: string): boolean {
  if (text.length > 253 || !domainPattern.test(text)) return false;
  const last = text.slice(text.lastIndexOf('.') + 1);
  // `10.0.0.256` and `10.1` are mistaken addresses. Some resolvers would read them as other ones.
  return !/^(?:[0-9]+|0x[0-9a-f]*)$/.test(last);
}

function isIpv4(text: string): boolean {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^(?:0|[1-9][0-9]{0,2})$/.test(part) && Number(part) <= 255);
}

function isIpv6(text: string): boolean {
  if (!text.includes(':')) return false;
  const halves = text.split('::');
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')));
  const tail = groups.at(-1) ?? '';
  const embedsIpv4 = tail.includes('.');
  if (embedsIpv4 && (!isIpv4(tail) || text.endsWith('::'))) return false;
  const hex = embedsIpv4 ? groups.slice(0, -1) : groups;
  if (!hex.every((group) => /^[0-9a-f]{1,4}$/.test(group))) return false;
  const count = hex.length + (embedsIpv4 ? 2 : 0);
  return halves.length === 2 ? count <= 7 : count === 8;
}
