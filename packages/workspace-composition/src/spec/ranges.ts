import * as z from 'zod';

/** A number field: its unit's sensible limits. Both ends are allowed values. */
export interface NumberRule {
  noun: string;
  min: number;
  max: number;
  integer: boolean;
}

export const portRule: NumberRule = { noun: 'A port', min: 1, max: 65_535, integer: true };

/** 0.01 is the least a cgroup can grant (1 ms in every 100 ms); 256 is above any host we place on, and catches a typo. */
export const cpusRule: NumberRule = { noun: '`cpus`', min: 0.01, max: 256, integer: false };

/** Below 16 MiB not even a shell starts reliably; 4 TiB is the largest machine one can rent. */
export const memoryRule: NumberRule = { noun: '`memoryMiB`', min: 16, max: 4 * 1024 * 1024, integer: true };

/** A quota below 16 MiB cannot hold a file system's own records; 64 TiB is the largest common volume. */
export const diskRule: NumberRule = { noun: '`diskMiB`', min: 16, max: 64 * 1024 * 1024, integer: true };

/** The guest, a shell and one pipeline need 8; Linux itself ends at 2^22 process ids. */
export const pidsRule: NumberRule = { noun: '`pids`', min: 8, max: 4_194_304, integer: true };

/**
 * What may go out of a sandbox, both directions together. Each ends far above what one machine can do in its life, so
 * that only a typo is refused; `connections` ends where the descriptors of a server would.
 */
export const networkLimitRules = {
  totalMiB: { noun: '`totalMiB`', min: 1, max: 1_048_576_000, integer: true },
  kibPerSecond: { noun: '`kibPerSecond`', min: 1, max: 104_857_600, integer: true },
  connections: { noun: '`connections`', min: 1, max: 4096, integer: true },
  connectionsPerSecond: { noun: '`connectionsPerSecond`', min: 1, max: 100_000, integer: true },
} as const satisfies Record<string, NumberRule>;

export function isInRange(rule: NumberRule, value: number): boolean {
  return value >= rule.min && value <= rule.max && (!rule.integer || Number.isInteger(value));
}

export function rangeMessage(rule: NumberRule): string {
  return `${rule.noun} must be a ${rule.integer ? 'whole number' : 'number'} from ${rule.min} to ${rule.max}.`;
}

export function rangeSchema(rule: NumberRule): z.ZodNumber {
  const range = z.number().min(rule.min).max(rule.max);
  return rule.integer ? range.int() : range;
}
