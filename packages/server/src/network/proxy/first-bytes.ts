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
  // Servers skip empty lines before a request, so they must not hide one from us.
  let start = 0;
  while (start < bytes.length && (bytes[start] === 13 || bytes[start] === 10)) start += 1;
  if (start === bytes.length) return start < lineMax ? { kind: 'more' } : { kind: 'other' };
  if (start === 0 && bytes[0] === 22) return lookAtTls(bytes);
  return lookAtLine(bytes.subarray(start));
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
  if (/^[!-~]+[ \t].*http\/[0-9]/i.test(line)) return { kind: 'http' };
  if (end >= 0 || bytes.length >= lineMax) return { kind: 'other' };
  const mayBecome = /^[!-~]*$/.test(line) ? line.length <= methodMax : /^[!-~]{1,40}[ \t][^\0\r]*\r?$/.test(line);
  return { kind: mayBecome ? 'more' : 'other' };
}
