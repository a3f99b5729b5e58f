import { CaissonError, type Id, includesScope, type Owner, type Scope } from '@caisson/contract';

/** Who makes a request: an owner and what its key may do. The local user of a machine without keys has no key. */
export interface Caller {
  readonly owner: Owner;
  readonly scope: Scope;
  readonly key: Id<'key'> | null;
}

/** How a caller is named where requests are told apart, as with idempotency keys. */
export function callerName(caller: Caller): string {
  const { tenant, project, principal } = caller.owner;
  return caller.key ?? `${tenant}/${project}/${principal}`;
}

export function requireScope(caller: Caller, wanted: Scope): void {
  if (!includesScope(caller.scope, wanted)) {
    throw new CaissonError('scope_missing', `this needs the scope ${wanted}; the key has ${caller.scope}`);
  }
}

/** The project that a request means: the caller's own, or another of its tenant for those who manage. */
export function projectOf(caller: Caller, wanted: string | undefined): string {
  if (wanted === undefined || wanted === caller.owner.project) return caller.owner.project;
  requireScope(caller, 'manage');
  return wanted;
}

/** Members of a project see its sandboxes; who manages sees those of the tenant. Everybody else sees nothing. */
export function canSee(caller: Caller, owner: Pick<Owner, 'tenant' | 'project'>): boolean {
  if (owner.tenant !== caller.owner.tenant) return false;
  return owner.project === caller.owner.project || includesScope(caller.scope, 'manage');
}

/** A sandbox or a snapshot is changed by its principal, or by a key with `manage`. */
export function mayChange(caller: Caller, { owner }: { readonly owner: Owner }): boolean {
  const own = owner.principal === caller.owner.principal && owner.project === caller.owner.project;
  return own || includesScope(caller.scope, 'manage');
}

export function requireChange(caller: Caller, thing: { readonly id: string; readonly owner: Owner }): void {
  if (!mayChange(caller, thing)) {
    throw new CaissonError('not_owner', `${thing.id} belongs to ${thing.owner.principal}`);
  }
}
