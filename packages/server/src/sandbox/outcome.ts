import { CaissonError, type Id, type Sandbox } from '@caisson/contract';
import { within } from '../drivers/within.ts';
import type { Store } from '../store/store.ts';
import type { Operation } from './runner.ts';

/** How an action went by the time the caller wanted to know. */
export interface Outcome {
  readonly sandbox: Sandbox;
  /** False when it is still on its way. */
  readonly settled: boolean;
  readonly created: boolean;
}

/** Waits for the end of an operation as long as the caller wants to. */
export async function settle(
  store: Store,
  operation: Operation,
  id: Id<'sandbox'>,
  waitSeconds: number,
): Promise<Outcome> {
  const ended = await within(operation.done, waitSeconds * 1000);
  if (ended) return { sandbox: ended, settled: true, created: false };
  const sandbox = await store.sandboxes.get(id);
  if (!sandbox) throw new CaissonError('sandbox_not_found', `there is no sandbox ${id}`);
  return { sandbox, settled: false, created: false };
}
