import { z } from 'zod';
import { idSchema } from '../ids.ts';
import { labelsSchema, nameSchema } from '../names.ts';
import { pathSchema } from './process-shape.ts';
import { byteAnswer, route } from './route.ts';
import { diffSchema, diffTargetSchema, fileDiffSchema } from './snapshot-content-shape.ts';
import { snapshotSchema } from './snapshot-shape.ts';

const tag = 'snapshots';
const params = z.strictObject({ id: idSchema('snapshot') });
const path = pathSchema.describe('from the root of the filesystem');
const to = diffTargetSchema.default('now').describe('a snapshot, or `now`: the files of its sandbox as they are');

/** `key=value` as it stands in a query, each once. */
const labelQuery = z
  .union([z.string().max(320), z.array(z.string().max(320)).max(64)])
  .transform((given) =>
    Object.fromEntries([given].flat().map((text) => [text.split('=', 1)[0], text.replace(/^[^=]*=?/, '')])),
  )
  .pipe(labelsSchema);

/** What is in a snapshot: how it differs from another, and the whole of it as one file. */
export const snapshotContentRoutes = {
  'snapshot.diff': route({
    method: 'GET',
    path: '/v1/snapshots/{id}/diff',
    summary: 'What differs between a snapshot and another, or the files of its sandbox as they are now',
    tag,
    scope: 'read',
    owned: 'snapshot',
    params,
    query: z.strictObject({
      to,
      path: path.optional().describe('only this, and what is in it'),
      limit: z.coerce.number().int().min(1).max(10_000).default(1_000),
      after: z.string().max(5_500).optional().describe('`next` of the previous page'),
    }),
    responses: { 200: diffSchema },
  }),
  'snapshot.diff.file': route({
    method: 'GET',
    path: '/v1/snapshots/{id}/diff/file',
    summary: 'How one file differs, line by line',
    tag,
    scope: 'read',
    owned: 'snapshot',
    params,
    query: z.strictObject({ to, path }),
    responses: { 200: fileDiffSchema },
  }),
  'snapshot.export': route({
    method: 'GET',
    path: '/v1/snapshots/{id}/export',
    summary: 'The whole of it as one file: an OCI image layout, with a digest for each part',
    tag,
    scope: 'read',
    owned: 'snapshot',
    params,
    query: z.strictObject({
      thin: z.stringbool().default(false).describe('without the layers of its image, which the other server must have'),
    }),
    responses: { 200: byteAnswer },
    download: 'tar',
  }),
  'snapshot.import': route({
    method: 'POST',
    path: '/v1/snapshots/import',
    summary: 'A snapshot from a file that `export` made, here or elsewhere; it is yours',
    tag,
    scope: 'use',
    query: z.strictObject({
      project: nameSchema.optional(),
      name: nameSchema.optional().describe('in place of the one in the file'),
      label: labelQuery.optional().describe('`key=value`, repeated; in place of those in the file'),
    }),
    upload: 'bytes',
    responses: { 201: snapshotSchema },
  }),
} as const;
