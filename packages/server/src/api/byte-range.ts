import { CaissonError } from '@caisson/contract';

export interface ByteRange {
  readonly first: number;
  readonly length: number;
}

/**
 * The part of a file that `Range` asks for (RFC 9110, section 14): one range of bytes. A header of another form, or with
 * several ranges, is ignored as the standard allows; one that lies outside of the file is refused.
 */
export function byteRange(header: string | undefined, size: number): ByteRange | undefined {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.replace(/\s/g, '') ?? '');
  if (!match || (match[1] === '' && match[2] === '')) return undefined;
  const from = match[1] === '' ? Math.max(0, size - Number(match[2])) : Number(match[1]);
  const to = match[1] === '' || match[2] === '' ? size - 1 : Math.min(Number(match[2]), size - 1);
  if (match[1] !== '' && match[2] !== '' && Number(match[2]) < from) return undefined;
  if (from >= size || (match[1] === '' && Number(match[2]) === 0)) {
    throw new CaissonError('range_invalid', `the file has ${size} bytes`, { context: { size } });
  }
  return { first: from, length: to - from + 1 };
}
