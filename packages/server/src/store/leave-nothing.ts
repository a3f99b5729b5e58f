import type { Queries } from './database.ts';
import { givePlaceBack } from './limits.ts';
import type { SandboxRow } from './sandbox-row.ts';
import { forgetSharedPorts } from './shared-ports.ts';
import { forgetToolCalls } from './tool-calls.ts';

/** What goes with a sandbox, in the transaction that ends it. Its record, its attempts and its events stay. */
export async function leaveNothing(tx: Queries, row: SandboxRow): Promise<void> {
  await givePlaceBack(tx, row);
  await forgetToolCalls(tx, row.id);
  await forgetSharedPorts(tx, row.id);
}
