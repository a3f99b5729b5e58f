import { z } from 'zod';
import { nameSchema } from '../names.ts';
import { tenantSchema } from '../owner.ts';
import { actorTypes, type Role, roleNames } from '../tenancy/roles.ts';
import { route } from './route.ts';

const tag = 'tenancy';
const roleSchema = z.enum(roleNames as [Role, ...Role[]]);
const ofTenant = z.strictObject({ tenant: tenantSchema.optional().describe("the operator's choice; else your own") });

/** The operator is an admin of the tenant `local`, such as the user of the machine. Everybody else acts within a tenant. */
export const tenantRecordSchema = z.object({
  name: nameSchema,
  suspended: z.boolean().describe('its keys are refused; what it has goes on'),
  sandboxes: z.int().describe('that are not destroyed'),
  createdAt: z.iso.datetime(),
});
export type TenantRecord = z.infer<typeof tenantRecordSchema>;

export const projectRecordSchema = z.object({ tenant: nameSchema, name: nameSchema, createdAt: z.iso.datetime() });
export type ProjectRecord = z.infer<typeof projectRecordSchema>;

export const principalRecordSchema = z.object({
  tenant: nameSchema,
  name: nameSchema,
  type: z.enum(actorTypes),
  role: roleSchema.describe('the most that its keys may do'),
  createdAt: z.iso.datetime(),
});
export type PrincipalRecord = z.infer<typeof principalRecordSchema>;

export const tenancyRoutes = {
  'tenant.list': route({
    method: 'GET',
    path: '/v1/tenants',
    summary: 'Every tenant for the operator; your own for everybody else',
    tag,
    scope: 'admin',
    responses: { 200: z.object({ items: z.array(tenantRecordSchema) }) },
  }),
  'tenant.set': route({
    method: 'PUT',
    path: '/v1/tenants/{tenant}',
    summary: 'Make a tenant, suspend it or let it go on; for the operator',
    tag,
    scope: 'admin',
    repeatable: true,
    params: z.strictObject({ tenant: tenantSchema }),
    body: z.strictObject({ suspended: z.boolean().optional() }),
    responses: { 200: tenantRecordSchema },
  }),
  'project.list': route({
    method: 'GET',
    path: '/v1/projects',
    summary: 'The projects of a tenant',
    tag,
    scope: 'manage',
    query: ofTenant,
    responses: { 200: z.object({ items: z.array(projectRecordSchema) }) },
  }),
  'project.set': route({
    method: 'PUT',
    path: '/v1/projects/{project}',
    summary: 'Make a project; one that is there stays as it is',
    tag,
    scope: 'admin',
    repeatable: true,
    params: z.strictObject({ project: nameSchema }),
    query: ofTenant,
    responses: { 200: projectRecordSchema },
  }),
  'principal.list': route({
    method: 'GET',
    path: '/v1/principals',
    summary: 'The principals of a tenant: people, agents, automations',
    tag,
    scope: 'manage',
    query: ofTenant,
    responses: { 200: z.object({ items: z.array(principalRecordSchema) }) },
  }),
  'principal.set': route({
    method: 'PUT',
    path: '/v1/principals/{principal}',
    summary: 'Make a principal, or change what it is and may do; its keys follow at once',
    tag,
    scope: 'admin',
    repeatable: true,
    params: z.strictObject({ principal: nameSchema }),
    query: ofTenant,
    body: z.strictObject({ type: z.enum(actorTypes).optional(), role: roleSchema.optional() }),
    responses: { 200: principalRecordSchema },
  }),
  'principal.remove': route({
    method: 'DELETE',
    path: '/v1/principals/{principal}',
    summary: 'Remove a principal and revoke its keys; what it has stays its own',
    tag,
    scope: 'admin',
    params: z.strictObject({ principal: nameSchema }),
    query: ofTenant,
    responses: { 200: principalRecordSchema.extend({ revokedKeys: z.int() }) },
  }),
} as const;
