import fc from 'fast-check';

/** Spellings of one IPv4 address, some of them of an IPv6 address through which it is reached. For tests. */
export function spellingsOf([a, b, c, d]: readonly [number, number, number, number]): string[] {
  const value = ((a * 256 + b) * 256 + c) * 256 + d;
  const hex = (n: number) => n.toString(16);
  const octal = (n: number) => `0${n.toString(8)}`;
  const quad = `${a}.${b}.${c}.${d}`;
  const groups = `${hex(a * 256 + b)}:${hex(c * 256 + d)}`;
  const wide = [...quad].map((sign) => (sign === '.' ? sign : String.fromCharCode(0xff10 + Number(sign)))).join('');
  const inverted = `${hex(0xffff - (a * 256 + b))}:${hex(0xffff - (c * 256 + d))}`;
  return [
    quad,
    `${quad}.`,
    `${value}`,
    `0x${hex(value)}`,
    `0X${hex(value).toUpperCase()}`,
    octal(value),
    [a, b, c, d].map((part) => `0x${hex(part)}`).join('.'),
    [a, b, c, d].map(octal).join('.'),
    `${octal(a)}.${b}.0x${hex(c)}.${d}`,
    `${a}.${b}.${c * 256 + d}`,
    `${a}.${(b * 256 + c) * 256 + d}`,
    `0x${hex(a)}.${(b * 256 + c) * 256 + d}`,
    wide,
    quad.replaceAll('.', '。'),
    quad.replaceAll('.', '．'),
    quad.replaceAll('.', '｡'),
    `::ffff:${quad}`,
    `::FFFF:${groups}`,
    `[::ffff:${groups}]`,
    `[0:0:0:0:0:ffff:${quad}]`,
    `0000:0000:0000:0000:0000:ffff:${groups}`,
    `64:ff9b::${quad}`,
    `[64:FF9B::${groups}]`,
    `::ffff:0:${groups}`,
    `2002:${groups}::`,
    `2002:${groups}:1:2:3:4:5`,
    `2001:0:c000:201:0:0:${inverted}`,
    `2001:0:${groups}:0:0:3fff:fdfe`,
    // `::0.0.0.1` is loopback and not this IPv4 address; it is closed all the same.
    `::${quad}`,
  ];
}

/** An address whose first bits are those of the quad. */
export function quadWithin(quad: string, prefix: number): fc.Arbitrary<[number, number, number, number]> {
  const start = quad.split('.').reduce((value, part) => value * 256 + Number(part), 0);
  return fc.integer({ min: 0, max: 2 ** (32 - prefix) - 1 }).map((rest) => {
    const value = start + rest;
    return [Math.floor(value / 2 ** 24), (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
  });
}
