import { z } from 'zod';

/**
 * Ids are opaque: a kind prefix and twenty characters of `[a-z0-9]`, with no separator, so that an id is valid in a
 * DNS label, a file name, a cgroup name and an E2B sandbox id alike. They never encode a place.
 *
 * Law: a newer id sorts after an older one of its kind (to the millisecond, while the clock does not step back), so an
 * index on ids is written at its end and a page of the newest needs no second column. Nothing but sorting may rely on it.
 */
export const idPrefixes = {
  sandbox: 'sbx',
  snapshot: 'snp',
  job: 'job',
  build: 'bld',
  image: 'img',
  process: 'prc',
  attempt: 'att',
  instance: 'ins',
  event: 'evt',
  tenant: 'tnt',
  project: 'prj',
  principal: 'prn',
  key: 'key',
  host: 'hst',
  entry: 'ent',
  webhook: 'whk',
  secret: 'sec',
  request: 'req',
} as const;

export type IdKind = keyof typeof idPrefixes;
export type Id<K extends IdKind = IdKind> = `${(typeof idPrefixes)[K]}${string}`;

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyz';
/** 36^9 ms reaches the year 5188; eight would have ended in 2059. */
const timeLength = 9;
/** 36^11 is 57 bits: a million ids in one millisecond collide with a chance of 4 in 10^6. Fewer would show. */
const randomLength = 11;
const bodyLength = timeLength + randomLength;
/** The largest multiple of 36 in a byte: bytes above it are drawn again, or the first letters would come more often. */
const fairByteLimit = 252;

/** Drawn many at a time: a call for each id would cost more than the rest of it. */
const pool = new Uint8Array(1024);
let drawn = pool.length;

function randomByte(): number {
  if (drawn === pool.length) {
    crypto.getRandomValues(pool);
    drawn = 0;
  }
  drawn += 1;
  return pool[drawn - 1] ?? fairByteLimit;
}

function randomBody(length: number): string {
  let body = '';
  while (body.length < length) {
    const byte = randomByte();
    if (byte < fairByteLimit) body += alphabet[byte % 36];
  }
  return body;
}

export function newId<K extends IdKind>(kind: K, now: number = Date.now()): Id<K> {
  const time = Math.trunc(now).toString(36).padStart(timeLength, '0');
  return `${idPrefixes[kind]}${time}${randomBody(randomLength)}`;
}

export function idPattern(kind: IdKind): RegExp {
  return new RegExp(`^${idPrefixes[kind]}[a-z0-9]{${bodyLength}}$`);
}

const patterns = Object.fromEntries(
  (Object.keys(idPrefixes) as IdKind[]).map((kind) => [kind, idPattern(kind)]),
) as Record<IdKind, RegExp>;

export function isId<K extends IdKind>(kind: K, value: unknown): value is Id<K> {
  return typeof value === 'string' && patterns[kind].test(value);
}

/** A plain string schema underneath, so that it can be written as JSON Schema; only the type is narrower. */
export function idSchema<K extends IdKind>(kind: K): z.ZodType<Id<K>, string> {
  const message = `must be a ${kind} id: ${idPrefixes[kind]} and ${bodyLength} characters of a-z, 0-9`;
  return z.string().regex(patterns[kind], message) as unknown as z.ZodType<Id<K>, string>;
}
