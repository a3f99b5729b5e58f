import { type Attempt, CaissonError, isId } from '@caisson/contract';
import type { Caisson } from '@caisson/sdk';
import { findSandbox } from './find-sandbox.ts';

/** The attempt that was meant: by its id, or the newest of a sandbox, which may be gone. */
export async function findAttempt(caisson: Caisson, ref: string): Promise<Attempt> {
  if (isId('attempt', ref)) return caisson.call('attempt.get', { params: { id: ref } });
  const { id, record } = await findSandbox(caisson, ref, { orGone: true });
  if (record.attempt === null) throw new CaissonError('attempt_not_found', `${id} has no attempt`);
  return caisson.call('attempt.get', { params: { id: record.attempt } });
}
