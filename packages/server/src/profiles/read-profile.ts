import { CaissonError, type Profile, parseOrThrow, profileSchema } from '@caisson/contract';

/** A profile of this size has a thousand lines; each is kept in memory for good. */
const maxProfileBytes = 65_536;
/** Specs are five levels deep; what is far deeper ends the call stack of whoever merges it. */
const maxDepth = 32;

/** A value as a profile, or every fault of it. */
export function readProfile(value: unknown, what = 'the profile'): Profile {
  if (isDeeperThan(value, maxDepth)) throw refuse('too_deep', `${what} is nested deeper than ${maxDepth} levels`);
  if (Buffer.byteLength(JSON.stringify(value) ?? '') > maxProfileBytes)
    throw refuse('too_large', `${what} is larger than ${maxProfileBytes} bytes`);
  return parseOrThrow(profileSchema, value, 'profile_invalid', what);
}

/** Level by level, so that its own depth does not matter. A document shares nothing with itself but by YAML's aliases. */
function isDeeperThan(value: unknown, levels: number): boolean {
  let level = new Set<object>(isObject(value) ? [value] : []);
  for (let depth = 0; depth < levels && level.size > 0; depth += 1) {
    const next = new Set<object>();
    for (const one of level) for (const inner of Object.values(one)) if (isObject(inner)) next.add(inner);
    level = next;
  }
  return level.size > 0;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function refuse(code: string, message: string): CaissonError {
  return new CaissonError('profile_invalid', message, { problems: [{ path: '$', code, message }] });
}
