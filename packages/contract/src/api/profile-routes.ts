import { z } from 'zod';
import { nameSchema } from '../names.ts';
import { profileSchema } from '../profile/profile.ts';
import { route } from './route.ts';

const tag = 'profiles';

export const resolvedProfileSchema = profileSchema.omit({ extends: true }).extend({ lineage: z.array(z.string()) });

/** It is judged as a profile and not as a request, so that every fault of it has its path in the profile. */
const profileBody = z.record(z.string().max(63), z.unknown()).describe('a profile, JSON or YAML; see docs/profiles.md');

export const checkedProfileSchema = z.object({
  isNew: z.boolean().describe('false when the very same is there already'),
  profile: resolvedProfileSchema,
  blueprintDigest: z.string().nullable().describe('of its defaults; null when it needs inputs or a source for that'),
});

export type CheckedProfile = z.infer<typeof checkedProfileSchema>;

export const profileRoutes = {
  'profile.list': route({
    method: 'GET',
    path: '/v1/profiles',
    summary: 'The newest version of each profile',
    tag,
    scope: 'read',
    responses: { 200: z.object({ items: z.array(profileSchema) }) },
  }),
  'profile.get': route({
    method: 'GET',
    path: '/v1/profiles/{name}',
    summary: 'One profile with its ancestors folded in',
    tag,
    scope: 'read',
    params: z.strictObject({ name: nameSchema }),
    query: z.strictObject({ version: z.coerce.number().int().min(1).optional() }),
    responses: { 200: resolvedProfileSchema },
  }),
  'profile.check': route({
    method: 'POST',
    path: '/v1/profiles/check',
    summary: 'Whether a profile could be added, with every fault of it; nothing is added',
    tag,
    scope: 'read',
    body: profileBody,
    responses: { 200: checkedProfileSchema },
  }),
  'profile.add': route({
    method: 'POST',
    path: '/v1/profiles',
    summary: 'Add a version of a profile; one that is there never changes, and adding the same again does nothing',
    tag,
    scope: 'admin',
    repeatable: true,
    body: profileBody,
    responses: { 200: checkedProfileSchema, 201: checkedProfileSchema },
  }),
} as const;
