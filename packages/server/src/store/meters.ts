import {
  aheadRateOf,
  CaissonError,
  costAhead,
  costOf,
  type HourlyRates,
  type MeterPhase,
  phaseOf,
  rateOf,
  type SandboxState,
} from '@caisson/contract';
import type { Selectable } from 'kysely';
import { isSwitchedOff } from './credits-switch.ts';
import type { Queries } from './database.ts';
import { isPostgres, move } from './ledger.ts';
import type { SandboxRow } from './sandbox-row.ts';
import type { MeterTable } from './tenancy-schema.ts';
import { insertUsage } from './usage.ts';

/**
 * Meters: what a sandbox costs, from its create to its end, in the same transactions as its states.
 *
 * Laws
 * - A sandbox is metered when its tenant pays with credits at the moment of its create or claim.
 * - What is held for it is enough for as long ahead as `hold_ms` says, or to the end of its lease, unless nothing more was
 *   available. Nothing is charged that was not held.
 * - What was used when nothing was left is written off, and told as `unpaid`.
 * - The end of a sandbox charges what it used and gives the rest back.
 * - While credits are switched off for its tenant a meter runs all the same and tells what was used, but holds nothing
 *   and charges nothing: its `hold_ms` is 0. What was used before or after a switch is paid or not as it was then.
 */
export interface PayTerms {
  /** Null where nobody knows what it costs. */
  readonly rates: HourlyRates | null;
  /** How long ahead is set aside. */
  readonly holdMs: number;
}

/** How long ahead is set aside for a sandbox. Longer keeps credits from others, shorter writes more. */
export const usualHoldMs = 3_600_000;

/** What nobody pays for may have no price. */
export const free: HourlyRates = { runningMicros: 0, pausedMicros: 0, stoppedMicros: 0 };

export type MeterRow = Selectable<MeterTable>;

/** How a meter stands after it was read. */
export interface Reading {
  /** Nothing more could be set aside. */
  readonly isLow: boolean;
  /** That is news. */
  readonly becameLow: boolean;
  readonly held: number;
  readonly perHour: number;
}

/** Sets aside what it will cost, or refuses it. The row of the tenant is held, and has so many credits. */
export async function beginMeter(
  tx: Queries,
  row: SandboxRow,
  available: number,
  terms: PayTerms | undefined,
  now: number,
): Promise<void> {
  const { tenant, id: sandbox } = row;
  const isOff = await isSwitchedOff(tx, tenant);
  const rates = terms?.rates ?? (isOff ? free : undefined);
  if (!rates) throw new CaissonError('price_unknown', `nobody said what a sandbox of the driver ${row.driver} costs`);
  const holdMs = isOff ? 0 : (terms?.holdMs ?? usualHoldMs);
  const needed = costAhead(rates.runningMicros, aheadMs(row, holdMs, now));
  if (needed > available) throw insufficient(tenant, needed, available, rates.runningMicros);
  await move(tx, { tenant, kind: 'hold', amount: needed, sandbox }, now);
  await tx
    .insertInto('meters')
    .values({
      sandbox,
      tenant,
      phase: phaseOf(row.state as SandboxState),
      ...rateColumns(rates),
      since: now,
      remainder: 0,
      held: needed,
      hold_ms: holdMs,
      told_low: 0,
    })
    .execute();
  await tx.updateTable('sandboxes').set({ metered: 1 }).where('id', '=', sandbox).execute();
}

/** The sandbox has another state, or, with `rates`, another price. What begins to cost more must be there. */
export async function turnMeter(tx: Queries, row: SandboxRow, now: number, rates?: HourlyRates): Promise<void> {
  const meter = await heldMeter(tx, row.id);
  if (!meter) return;
  const phase = phaseOf(row.state as SandboxState);
  // Of the same price: the stretch goes on.
  if (phase === meter.phase && !rates && row.state !== 'destroyed') return;
  const next = { phase, rates: rates ?? ratesOf(meter) };
  const costsMore = aheadRateOf(next.rates, phase) > aheadRateOf(ratesOf(meter), meter.phase as MeterPhase);
  await readMeter(tx, meter, row, next, now, row.action !== null && costsMore ? 'all' : 'some');
}

/**
 * Charges what was used since the last reading, and sets aside what is needed from here on: `all` of it or an error,
 * `some` when no more is there, or only when it is `half` used up.
 */
export async function readMeter(
  tx: Queries,
  meter: MeterRow,
  row: SandboxRow,
  next: { readonly phase: MeterPhase; readonly rates: HourlyRates },
  now: number,
  wanted: 'all' | 'some' | 'half',
): Promise<Reading> {
  const { tenant, sandbox } = meter;
  const available = await availableTo(tx, tenant);
  const { charged, extra, remainder } = await charge(tx, meter, row, available, now);
  const holdMs = (await isSwitchedOff(tx, tenant)) ? 0 : meter.hold_ms || usualHoldMs;
  let held = meter.held + extra - charged;
  const perHour = aheadRateOf(next.rates, next.phase);
  const target = costAhead(perHour, aheadMs(row, holdMs, now));
  const lack = target - held;
  const left = available - extra;
  if (wanted === 'all' && lack > left) throw insufficient(tenant, lack, left, perHour);
  const more = wanted === 'half' && held * 2 >= target ? 0 : Math.min(Math.max(0, lack), left);
  if (lack < 0) await move(tx, { tenant, kind: 'release', amount: -lack, sandbox }, now);
  await move(tx, { tenant, kind: 'hold', amount: more, sandbox }, now);
  held = lack < 0 ? target : held + more;
  const isLow = more < lack && more === left;
  await tx
    .updateTable('meters')
    .set({
      phase: next.phase,
      ...rateColumns(next.rates),
      since: Math.max(now, meter.since),
      remainder,
      held,
      hold_ms: holdMs,
      told_low: isLow ? 1 : 0,
      ended_at: row.state === 'destroyed' ? now : null,
    })
    .where('sandbox', '=', sandbox)
    .execute();
  return { isLow, becameLow: isLow && meter.told_low === 0, held, perHour };
}

/** What was used is paid from what is held, then from what is available; what neither has is written off. */
async function charge(tx: Queries, meter: MeterRow, row: SandboxRow, available: number, now: number) {
  const { tenant, sandbox } = meter;
  const phase = meter.phase as MeterPhase;
  const perHour = rateOf(ratesOf(meter), phase);
  const isPaid = meter.hold_ms > 0;
  const due = costOf(isPaid ? perHour : 0, now - meter.since, meter.remainder);
  const extra = Math.min(Math.max(0, due.micros - meter.held), available);
  const charged = Math.min(due.micros, meter.held + extra);
  const unpaid = due.micros - charged;
  await move(tx, { tenant, kind: 'hold', amount: extra, sandbox }, now);
  await move(tx, { tenant, kind: 'charge', amount: charged, sandbox }, now);
  if (unpaid > 0)
    await tx
      .updateTable('tenants')
      .set((eb) => ({ credits_unpaid: eb('credits_unpaid', '+', unpaid) }))
      .where('name', '=', tenant)
      .execute();
  if (now > meter.since && phase !== 'waiting' && phase !== 'ending')
    await insertUsage(tx, { phase, began_at: meter.since, ended_at: now, per_hour: perHour, charged, unpaid }, row);
  return { charged, extra, remainder: due.remainder };
}

/** The meter of a sandbox that has not ended; nobody else reads it until the end of the transaction. */
export async function heldMeter(tx: Queries, sandbox: string): Promise<MeterRow | undefined> {
  const query = tx.selectFrom('meters').selectAll().where('sandbox', '=', sandbox).where('ended_at', 'is', null);
  return (isPostgres(tx) ? query.forUpdate() : query).executeTakeFirst();
}

async function availableTo(tx: Queries, tenant: string): Promise<number> {
  const query = tx.selectFrom('tenants').select('credits').where('name', '=', tenant);
  return (await (isPostgres(tx) ? query.forUpdate() : query).executeTakeFirst())?.credits ?? 0;
}

export function ratesOf(meter: MeterRow): HourlyRates {
  const { running_micros: runningMicros, paused_micros: pausedMicros, stopped_micros: stoppedMicros } = meter;
  return { runningMicros, pausedMicros, stoppedMicros };
}

function rateColumns({ runningMicros, pausedMicros, stoppedMicros }: HourlyRates) {
  return { running_micros: runningMicros, paused_micros: pausedMicros, stopped_micros: stoppedMicros };
}

/** Never beyond the end of its lease. */
function aheadMs({ expires_at: end }: SandboxRow, holdMs: number, now: number): number {
  return end === null ? holdMs : Math.min(holdMs, Math.max(0, end - now));
}

function insufficient(tenant: string, neededMicros: number, availableMicros: number, perHourMicros: number) {
  return new CaissonError(
    'insufficient_credits',
    `this needs ${neededMicros} micro-units of credit and tenant ${tenant} has ${availableMicros}`,
    { context: { neededMicros, availableMicros, perHourMicros } },
  );
}
