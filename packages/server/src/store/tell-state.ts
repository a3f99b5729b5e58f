import {
  type ActionName,
  type CaissonEvent,
  type Sandbox,
  type SandboxState,
  type StateChange,
  stateEventType,
} from '@caisson/contract';
import type { Queries } from './database.ts';
import type { EventLog } from './events.ts';
import { rowOwner, type SandboxRow, toSandbox } from './sandbox-row.ts';

export interface Applied {
  readonly sandbox: Sandbox;
  readonly event: CaissonEvent;
}

/** The event of the state that a row has now, in the transaction that gave it that. */
export async function tellState(
  events: EventLog,
  tx: Queries,
  row: SandboxRow,
  from: SandboxState | null,
  cause: ActionName | null,
): Promise<Applied> {
  const sandbox = toSandbox(row);
  const data: StateChange = {
    from,
    to: sandbox.state,
    action: sandbox.action,
    cause,
    incarnation: sandbox.incarnation,
    owner: rowOwner(row),
    reason: sandbox.reason,
    ...(sandbox.rollbackTo === null ? {} : { snapshot: sandbox.rollbackTo }),
  };
  const { id: subject, tenant, project, sequence, updated_at: time } = row;
  const type = stateEventType(sandbox.state);
  const event = await events.append(tx, { type, subject, sequence, tenant, project, time, data });
  return { sandbox, event };
}
