import { type ClientHello, helloMax, readClientHello } from './client-hello.ts';

/** What the first bytes of a tunnel are the beginning of. */
export type FirstBytes =
  | { readonly kind: 'more' }
  | { readonly kind: 'tls'; readonly hello: ClientHello | undefined }
  | { readonly kind: 'http' }
  /** HTTP/2 without TLS. */
  | { readonly kind: 'h2' }
  | { readonly kind: 'other' };

/** A request line; longer ones are refused by servers too. */
const lineMax = 16 * 1024;
/** Until here nothing can be a request line that is not one already. */
const methodMax = 40;

/** Looks at what a client says first. Pure; with more bytes the answer never changes but from `more`. */
export function lookAtFirstBytes(bytes: Buffer): FirstBytes {
  if (bytes[0] === 22) return lookAtTls(bytes);
  const odd = lookAtOddTls(bytes);
  if (odd) return odd;
  // Servers skip empty lines before a request, and some all white space, so it must not hide one from us.
  let start = 0;
  while (start < bytes.length && isWhite(bytes[start])) start += 1;
  if (start === bytes.length) return start < lineMax ? { kind: 'more' } : { kind: 'other' };
  return lookAtLine(bytes.subarray(start));
}

function isWhite(byte: number | undefined): boolean {
  return byte === 32 || (byte !== undefined && byte >= 9 && byte <= 13);
}

/**
 * TLS that does not begin with its hello, or with one in the form of SSL 2, which names no host: some servers take it, and
 * a hello that is hidden behind it would be seen by nobody. Undefined for what is neither.
 */
function lookAtOddTls(bytes: Buffer): FirstBytes | undefined {
  const [first = 0, second, third, fourth] = bytes;
  const unread: FirstBytes = { kind: 'tls', hello: undefined };
  if (first >= 20 && first <= 24) {
    if (second === undefined) return { kind: 'more' };
    return second === 3 ? unread : undefined;
  }
  if (first < 0x80 || (third ?? 1) !== 1 || (fourth ?? 3) > 3) return undefined;
  return fourth === undefined ? { kind: 'more' } : unread;
}

function lookAtTls(bytes: Buffer): FirstBytes {
  const hello = readClientHello(bytes);
  if (hello === 'more') return bytes.length < helloMax + 1024 ? { kind: 'more' } : { kind: 'tls', hello: undefined };
  return { kind: 'tls', hello: hello === 'malformed' ? undefined : hello };
}

function lookAtLine(bytes: Buffer): FirstBytes {
  const end = bytes.indexOf(10);
  const line = bytes.toString('latin1', 0, end < 0 ? Math.min(bytes.length, lineMax) : Math.min(end, lineMax));
  if (line.startsWith('PRI * HTTP/2')) return { kind: 'h2' };
  // Wider than a request line may be: what a lenient server could read as one goes to our strict parser.
  if (/^[!-~]+\s[^\n]*http\/[0-9]/i.test(line)) return { kind: 'http' };
  if (end >= 0 || bytes.length >= lineMax) return { kind: 'other' };
  const mayBecome = /^[!-~]*$/.test(line) ? line.length <= methodMax : /^[!-~]{1,40}\s/.test(line);
  return { kind: mayBecome ? 'more' : 'other' };
}
