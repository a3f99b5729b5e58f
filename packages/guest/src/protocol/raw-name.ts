import { isUtf8 } from 'node:buffer';
import { ProtocolError } from './protocol-error.ts';

/**
 * Linux names are bytes; TypeScript wants strings. A byte that is not part of valid UTF-8 becomes the lone surrogate
 * U+DC00 + byte (0x80..0xff → U+DC80..U+DCFF), which no valid UTF-8 can produce, so bytes → string → bytes gives the same
 * bytes for every name. `JSON.stringify` writes a lone surrogate as `\udcxx`, so the name survives JSON too.
 */
export function decodeName(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (isUtf8(buffer)) return buffer.toString('utf8');
  const parts: string[] = [];
  let runStart = 0;
  let at = 0;
  while (at < buffer.length) {
    const length = sequenceLength(buffer, at);
    if (length > 0) {
      at += length;
      continue;
    }
    if (at > runStart) parts.push(buffer.toString('utf8', runStart, at));
    parts.push(String.fromCharCode(0xdc00 + (buffer[at] ?? 0)));
    at += 1;
    runStart = at;
  }
  parts.push(buffer.toString('utf8', runStart, at));
  return parts.join('');
}

export function encodeName(name: string): Buffer {
  if (!hasLoneSurrogate(name)) return Buffer.from(name, 'utf8');
  const parts: Buffer[] = [];
  for (const character of name) {
    const unit = character.length === 1 ? character.charCodeAt(0) : 0;
    if (unit >= 0xdc80 && unit <= 0xdcff) parts.push(Buffer.from([unit - 0xdc00]));
    else if (unit >= 0xd800 && unit <= 0xdfff)
      throw new ProtocolError('invalid_text', 'a surrogate that stands for no byte');
    else parts.push(Buffer.from(character, 'utf8'));
  }
  return Buffer.concat(parts);
}

export function hasLoneSurrogate(text: string): boolean {
  return /\p{Surrogate}/u.test(text);
}

/** Length of the valid UTF-8 sequence at `at`, 0 when there is none (RFC 3629: no overlong form, no surrogate). */
function sequenceLength(bytes: Buffer, at: number): number {
  const lead = bytes[at] ?? 0;
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const second = bytes[at + 1] ?? 0;
  const low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  if (second < low || second > high) return 0;
  const length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  for (let i = 2; i < length; i += 1) {
    if (((bytes[at + i] ?? 0) & 0xc0) !== 0x80) return 0;
  }
  return length;
}
