import type { IncomingHttpHeaders } from 'node:http2';

/** The numbers of gRPC that mean something here. */
export const grpcCodes = {
  ok: 0,
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  notFound: 5,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
} as const;

/** Its words come from the other side: they are bounded, and nothing else is promised of them. */
const wordsMax = 8_000;

/** What the other side answered in place of a result. */
export class GrpcError extends Error {
  override readonly name = 'GrpcError';
  readonly code: number;

  constructor(code: number, words: string) {
    super(words.slice(-wordsMax) || `it answered with the status ${code}`);
    this.code = code;
  }
}

/** The failure that the end of a call tells of; undefined for a success. */
export function failureIn(fields: IncomingHttpHeaders): GrpcError | undefined {
  const status = fields['grpc-status'];
  if (status === undefined) return new GrpcError(grpcCodes.unavailable, 'it ended without a word');
  const code = Number(status);
  return code === grpcCodes.ok ? undefined : new GrpcError(code, unescapeWords(String(fields['grpc-message'] ?? '')));
}

/** As gRPC writes words into a field: what is not plain ASCII is a byte in hexadecimal. */
export function escapeWords(words: string): string {
  const bytes = [...Buffer.from(words.slice(0, wordsMax))];
  const plain = (byte: number) => byte >= 0x20 && byte < 0x7f && byte !== 0x25;
  return bytes
    .map((byte) => (plain(byte) ? String.fromCharCode(byte) : `%${byte.toString(16).padStart(2, '0').toUpperCase()}`))
    .join('');
}

export function unescapeWords(words: string): string {
  const bytes: number[] = [];
  for (let at = 0; at < words.length; at++) {
    const hex = words[at] === '%' ? /^[0-9A-Fa-f]{2}$/.exec(words.slice(at + 1, at + 3))?.[0] : undefined;
    bytes.push(hex === undefined ? words.charCodeAt(at) & 0xff : Number.parseInt(hex, 16));
    if (hex !== undefined) at += 2;
  }
  return Buffer.from(bytes).toString();
}
