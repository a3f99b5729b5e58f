import type { ActionName, Id } from '@caisson/contract';
import { newLeaseColumns, noLease } from './lease-columns.ts';
import type { NewSandbox, StepChange } from './sandboxes.ts';

export function newRow(sandbox: NewSandbox, attempt: Id<'attempt'>, now: number) {
  const { owner } = sandbox;
  return {
    id: sandbox.id,
    tenant: owner.tenant,
    project: owner.project,
    principal: owner.principal,
    scope: owner.scope ?? null,
    name: sandbox.name,
    slot: sandbox.slot,
    profile_name: sandbox.profile?.name ?? null,
    profile_version: sandbox.profile?.version ?? null,
    state: 'requested',
    incarnation: 1,
    sequence: 1,
    labels: JSON.stringify(sandbox.labels),
    attempt,
    driver: sandbox.driver,
    host: sandbox.host,
    blueprint_digest: sandbox.blueprintDigest,
    persistence: sandbox.persistence,
    notices: JSON.stringify(sandbox.notices),
    created_at: now,
    updated_at: now,
    expires_at: sandbox.expiresAt,
    ...newLeaseColumns(sandbox.lease ?? noLease, sandbox.expiresAt, null),
    policy: JSON.stringify(sandbox.policy),
    origin_sandbox: sandbox.origin?.sandbox ?? null,
    origin_snapshot: sandbox.origin?.snapshot ?? null,
    head: sandbox.head ?? null,
    pool: sandbox.pool ?? null,
  };
}

/** Where one that failed was to lead is remembered until something else is done. */
export function rollbackTarget(action: ActionName, { rollbackTo }: StepChange): { rollback_to?: string | null } {
  if (rollbackTo !== undefined) return { rollback_to: rollbackTo };
  return action === 'rollback' ? {} : { rollback_to: null };
}
