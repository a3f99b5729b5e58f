import { z } from 'zod';
import { nameSchema } from './names.ts';

/**
 * Who holds a thing. All three parts are always there: an instance from which only some can be recovered has no owner.
 * `scope` narrows it further where a caller keeps several sandboxes apart for one principal.
 */
export const ownerSchema = z.strictObject({
  tenant: nameSchema,
  project: nameSchema,
  principal: nameSchema,
  scope: nameSchema.optional(),
});

export type Owner = z.infer<typeof ownerSchema>;

/** The local user of a machine where nobody configured tenants. */
export const localOwner: Owner = { tenant: 'local', project: 'default', principal: 'local' };

/**
 * Who holds what belongs to nobody yet: the members of warm pools. It has the form of any other owner, because labels and
 * events of a member carry it; its tenant is reserved, and no key acts for it.
 */
export const systemOwner: Owner = { tenant: 'caisson-system', project: 'pools', principal: 'caisson' };

/** A tenant that somebody may name. */
export const tenantSchema = nameSchema.refine((name) => name !== systemOwner.tenant, 'is reserved');

export function sameOwner(a: Owner, b: Owner): boolean {
  return a.tenant === b.tenant && a.project === b.project && a.principal === b.principal && a.scope === b.scope;
}

const labelNames = {
  tenant: 'caisson.tenant',
  project: 'caisson.project',
  principal: 'caisson.principal',
  scope: 'caisson.scope',
} as const;

/** The labels that a driver puts on an instance so that its owner can be recovered from the instance alone. */
export function ownerLabels(owner: Owner): Record<string, string> {
  const labels: Record<string, string> = {
    [labelNames.tenant]: owner.tenant,
    [labelNames.project]: owner.project,
    [labelNames.principal]: owner.principal,
  };
  if (owner.scope !== undefined) labels[labelNames.scope] = owner.scope;
  return labels;
}

/** The whole owner, or undefined: a part of an owner is nobody. */
export function ownerFromLabels(labels: Readonly<Record<string, string>>): Owner | undefined {
  const read = (name: string) => (Object.hasOwn(labels, name) ? labels[name] : undefined);
  const parsed = ownerSchema.safeParse({
    tenant: read(labelNames.tenant),
    project: read(labelNames.project),
    principal: read(labelNames.principal),
    ...(read(labelNames.scope) === undefined ? {} : { scope: read(labelNames.scope) }),
  });
  return parsed.success ? parsed.data : undefined;
}
