import type { ActionName, Id, Owner, ReasonCode, Sandbox, SandboxPolicy, SandboxState } from '@caisson/contract';
import type { Selectable } from 'kysely';
import { toLease } from './lease-columns.ts';
import type { SandboxTable } from './schema.ts';

export type SandboxRow = Selectable<SandboxTable>;

export function isoTime(milliseconds: number): string;
export function isoTime(milliseconds: number | null): string | null;
export function isoTime(milliseconds: number | null): string | null {
  return milliseconds === null ? null : new Date(milliseconds).toISOString();
}

export function rowOwner(row: Pick<SandboxRow, 'tenant' | 'project' | 'principal' | 'scope'>): Owner {
  const { tenant, project, principal, scope } = row;
  return scope === null ? { tenant, project, principal } : { tenant, project, principal, scope };
}

/** A row is ours and was checked when it was written; it is read without checking it again on the hot path. */
export function toSandbox(row: SandboxRow): Sandbox {
  return {
    id: row.id as Id<'sandbox'>,
    name: row.name,
    owner: rowOwner(row),
    profile: row.profile_name === null ? null : { name: row.profile_name, version: row.profile_version ?? 1 },
    state: row.state as SandboxState,
    action: row.action as ActionName | null,
    reason:
      row.reason_code === null ? null : { code: row.reason_code as ReasonCode, message: row.reason_message ?? '' },
    incarnation: row.incarnation,
    labels: JSON.parse(row.labels) as Record<string, string>,
    attempt: row.attempt as Id<'attempt'> | null,
    driver: row.driver,
    host: row.host,
    blueprintDigest: row.blueprint_digest,
    persistence: row.persistence as Sandbox['persistence'],
    notices: JSON.parse(row.notices) as string[],
    policy: JSON.parse(row.policy) as SandboxPolicy,
    turn: row.turn,
    head: row.head as Id<'snapshot'> | null,
    rollbackTo: row.rollback_to as Id<'snapshot'> | null,
    origin:
      row.origin_sandbox === null
        ? null
        : { sandbox: row.origin_sandbox as Id<'sandbox'>, snapshot: row.origin_snapshot as Id<'snapshot'> | null },
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
    readyAt: isoTime(row.ready_at),
    expiresAt: isoTime(row.expires_at),
    lease: toLease(row),
  };
}
