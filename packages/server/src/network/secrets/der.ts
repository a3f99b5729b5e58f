/** The few forms of DER that a certificate is made of. Each answers the whole element: tag, length, content. */
function element(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.byteLength), content]);
}

function lengthOf(bytes: number): Buffer {
  if (bytes < 0x80) return Buffer.from([bytes]);
  const digits: number[] = [];
  for (let rest = bytes; rest > 0; rest = Math.floor(rest / 256)) digits.unshift(rest % 256);
  return Buffer.from([0x80 | digits.length, ...digits]);
}

export const sequence = (...parts: readonly Uint8Array[]): Buffer => element(0x30, ...parts);
export const set = (...parts: readonly Uint8Array[]): Buffer => element(0x31, ...parts);
export const octets = (content: Uint8Array): Buffer => element(0x04, content);
export const truth = (): Buffer => element(0x01, Buffer.from([0xff]));
export const utf8 = (text: string): Buffer => element(0x0c, Buffer.from(text));
/** Explicitly tagged, or implicitly with the content alone. */
export const tagged = (tag: number, content: Uint8Array): Buffer => element(0xa0 | tag, content);
export const implicit = (tag: number, content: Uint8Array): Buffer => element(0x80 | tag, content);

/** A number that is not negative, from its bytes. */
export function integer(bytes: Uint8Array): Buffer {
  let first = 0;
  while (first < bytes.byteLength - 1 && bytes[first] === 0) first += 1;
  const digits = bytes.subarray(first);
  const sign = (digits[0] ?? 0) >= 0x80 ? [Buffer.from([0])] : [];
  return element(0x02, ...sign, digits);
}

/** Bits by their numbers, as key usages are written: without the zeros at the end. */
export function bits(numbers: readonly number[]): Buffer {
  const last = Math.max(...numbers);
  const bytes = Buffer.alloc(Math.floor(last / 8) + 1);
  for (const number of numbers) bytes[number >> 3] = (bytes[number >> 3] ?? 0) | (0x80 >> (number & 7));
  return element(0x03, Buffer.from([7 - (last & 7)]), bytes);
}

export const bitString = (content: Uint8Array): Buffer => element(0x03, Buffer.from([0]), content);

/** `1.2.840.10045.4.3.2` */
export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  return element(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(number: number): number[] {
  const digits = [number & 0x7f];
  for (let rest = number >>> 7; rest > 0; rest >>>= 7) digits.unshift(0x80 | (rest & 0x7f));
  return digits;
}

/** Two digits of the year before 2050, four from then on, as certificates want it. */
export function time(date: Date): Buffer {
  const digits = `${date.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`;
  const isShort = date.getUTCFullYear() < 2050;
  return isShort ? element(0x17, Buffer.from(digits.slice(2))) : element(0x18, Buffer.from(digits));
}
