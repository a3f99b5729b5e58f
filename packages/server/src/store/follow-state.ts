import type { Queries } from './database.ts';
import { leaveNothing } from './leave-nothing.ts';
import { turnMeter } from './meters.ts';
import type { SandboxRow } from './sandbox-row.ts';

/** What follows from the new state of a sandbox, in its transaction. */
export async function followState(tx: Queries, row: SandboxRow, now: number): Promise<void> {
  if (row.metered > 0) await turnMeter(tx, row, now);
  if (row.state === 'destroyed') await leaveNothing(tx, row);
}
