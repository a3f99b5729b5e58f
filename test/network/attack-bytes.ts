/** Messages that only an attacker writes by hand. */

function sized(bytes: Buffer, width: 1 | 2 | 3): Buffer {
  const size = Buffer.alloc(width);
  size.writeUIntBE(bytes.length, 0, width);
  return Buffer.concat([size, bytes]);
}

function extension(type: number, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from([type >> 8, type & 255]), sized(body, 2)]);
}

/** A TLS hello that shows this name, or none, with more extensions where they are given. */
export function helloFor(
  name: string | undefined,
  ...more: readonly (readonly [type: number, body: Buffer])[]
): Buffer {
  const shown =
    name === undefined ? [] : [extension(0, sized(Buffer.concat([Buffer.from([0]), sized(Buffer.from(name), 2)]), 2))];
  const extensions = [
    ...shown,
    extension(43, Buffer.from([2, 3, 4])),
    ...more.map(([type, body]) => extension(type, body)),
  ];
  const body = Buffer.concat([
    Buffer.from([3, 3]),
    Buffer.alloc(32, 7),
    Buffer.from([0]),
    sized(Buffer.from([0x13, 0x01]), 2),
    sized(Buffer.from([0]), 1),
    sized(Buffer.concat(extensions), 2),
  ]);
  return Buffer.concat([Buffer.from([22, 3, 1]), sized(Buffer.concat([Buffer.from([1]), sized(body, 3)]), 2)]);
}

/** Of a hello that is encrypted; what is in it does not matter. */
export const encryptedHello = [0xfe0d, Buffer.alloc(40, 1)] as const;

/** The greeting of SOCKS5 and a request in one. */
export function socks(host: string, port: number, command = 1): Buffer {
  const name = Buffer.from(host, 'utf8').subarray(0, 255);
  const end = Buffer.from([port >> 8, port & 255]);
  return Buffer.concat([Buffer.from([5, 1, 0, 5, command, 0, 3, name.length]), name, end]);
}

/** What SOCKS answered to the request, undefined when nothing. */
export function socksReply(said: string): number | undefined {
  return said.length < 4 ? undefined : said.charCodeAt(3);
}
