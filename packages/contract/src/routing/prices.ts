import { z } from 'zod';
import { nameSchema } from '../names.ts';
import { hostNameSchema } from './host-name.ts';

const micros = z.int().min(0).max(1_000_000_000_000);

/**
 * What an hour of a sandbox costs, as data with a date. Amounts are micro-units of credit. An entry without a host is
 * for every host of its driver; one with a host is nearer. A driver without an entry has no known price, which is not
 * the same as none.
 */
export const priceTableSchema = z.strictObject({
  asOf: z.iso.date().describe('the day on which the prices were looked up'),
  entries: z
    .array(
      z.strictObject({
        driver: nameSchema,
        host: hostNameSchema.optional(),
        perHour: micros.default(0).describe('for being there, whatever its size'),
        perCpuHour: micros.default(0),
        perGiBHour: micros.default(0).describe('of memory'),
        perDiskGiBHour: micros.optional().describe('of the limit of its disk, also while it is stopped'),
      }),
    )
    .max(1000),
});

export type PriceTable = z.infer<typeof priceTableSchema>;

/**
 * What an hour costs by what a sandbox does. Running: all of it. Paused: it is there and holds its memory, but uses no
 * processor. Stopped or failed: its disk alone.
 */
export interface HourlyRates {
  readonly runningMicros: number;
  readonly pausedMicros: number;
  readonly stoppedMicros: number;
}
