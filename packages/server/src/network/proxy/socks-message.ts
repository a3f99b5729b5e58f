import { readHost, type Target } from '../rules/host.ts';
import { printable } from './refused.ts';

/** SOCKS5 (RFC 1928) as far as a proxy without accounts needs it. Both readers are pure and never throw. */
const version = 5;
const noAuthentication = 0;
export const methodAccepted = Buffer.from([version, noAuthentication]);
export const noMethodAccepted = Buffer.from([version, 0xff]);

export type ReadGreeting = 'more' | 'malformed' | { readonly isAccepted: boolean; readonly size: number };

export function readGreeting(bytes: Buffer): ReadGreeting {
  if (bytes.length > 0 && bytes[0] !== version) return 'malformed';
  const count = bytes[1];
  if (count === undefined || bytes.length < 2 + count) return 'more';
  return { isAccepted: bytes.subarray(2, 2 + count).includes(noAuthentication), size: 2 + count };
}

export type ReadRequest =
  | 'more'
  | 'malformed'
  | { readonly reply: number; readonly sent: string }
  | { readonly target: Target; readonly size: number };

const commandConnect = 1;
const kinds = { ipv4: 1, name: 3, ipv6: 4 } as const;
/** What a request is answered that wants something else than a connection. */
const replies = { notReadable: 4, commandUnsupported: 7, addressUnsupported: 8 } as const;

export function readSocksRequest(bytes: Buffer): ReadRequest {
  if (bytes.length > 0 && bytes[0] !== version) return 'malformed';
  const [, command, , kind, first] = bytes;
  if (command === undefined || kind === undefined) return 'more';
  if (command !== commandConnect) return { reply: replies.commandUnsupported, sent: `command ${command}` };
  const length = { [kinds.ipv4]: 4, [kinds.ipv6]: 16, [kinds.name]: (first ?? 0) + 1 }[kind];
  if (length === undefined) return { reply: replies.addressUnsupported, sent: `address kind ${kind}` };
  const size = 4 + length + 2;
  if (first === undefined || bytes.length < size) return 'more';
  const text = addressText(kind, bytes.subarray(4, 4 + length));
  const host = readHost(text);
  const port = bytes.readUInt16BE(size - 2);
  if (!host || port === 0) return { reply: replies.notReadable, sent: printable(`${text}:${port}`) };
  return { target: { host, port }, size };
}

function addressText(kind: number, bytes: Buffer): string {
  if (kind === kinds.ipv4) return bytes.join('.');
  if (kind === kinds.name) return bytes.toString('latin1', 1);
  return bytes.toString('hex').replace(/(.{4})(?=.)/g, '$1:');
}

/** With an address that means nothing: whoever connects through a proxy has no use for the proxy's. */
export function socksAnswer(reply: number): Buffer {
  return Buffer.from([version, reply, 0, kinds.ipv4, 0, 0, 0, 0, 0, 0]);
}
