import { includesScope, type Scope } from '../api/route.ts';

/** Who acts: somebody at a keyboard, a model that works on its own, or a program that does what it is told. */
export const actorTypes = ['person', 'agent', 'automation'] as const;
export type ActorType = (typeof actorTypes)[number];

/** The most that keys of a principal may do, whatever is written on them. */
export const roles = { viewer: 'read', member: 'use', manager: 'manage', admin: 'admin' } as const satisfies Record<
  string,
  Scope
>;
export type Role = keyof typeof roles;
export const roleNames = Object.keys(roles) as Role[];

/** A key counts for what it says, or for the role of its principal where that is less. */
export function scopeWithin(scope: Scope, role: Role): Scope {
  return includesScope(roles[role], scope) ? scope : roles[role];
}
