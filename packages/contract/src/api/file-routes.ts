import { z } from 'zod';
import { idSchema } from '../ids.ts';
import { fileEntrySchema, grepMatchSchema, sandboxStatsSchema, watchBatchSchema } from './file-shape.ts';
import { pathSchema, userSchema } from './process-shape.ts';
import { byteAnswer, route } from './route.ts';

const tag = 'files';
const params = z.strictObject({ id: idSchema('sandbox') });
const at = { path: pathSchema, user: userSchema.optional() };
const flag = z.stringbool();
const mode = z.int().min(0).max(0o7777);
const pattern = z.string().min(1).max(1024);
const entry = { 200: fileEntrySchema } as const;
const done = { 200: z.object({ done: z.literal(true) }) } as const;
const entries = { 200: z.object({ entries: z.array(fileEntrySchema), truncated: z.boolean() }) } as const;

/** A list is held in memory as a whole; walking further is for `glob` or for the tree as an archive. */
const limit = z.int().min(1).max(10_000);

/** Larger files are not edited by exact text; the whole file is held in memory. */
export const maxEditBytes = 16 * 1024 * 1024;

export const editSchema = z.strictObject({
  oldText: z.string().min(1),
  newText: z.string(),
  all: z.boolean().default(false).describe('replace each one; otherwise the text must be there exactly once'),
});

export type FileEdit = z.input<typeof editSchema>;

/** An octal number as people write modes. */
const modeText = z
  .string()
  .regex(/^[0-7]{1,4}$/, 'must be an octal mode such as 644')
  .transform((text) => Number.parseInt(text, 8));

function change<const P extends string, B extends z.ZodType, R extends Record<number, z.ZodType>>(
  name: P,
  summary: string,
  body: B,
  responses: R,
) {
  return route({
    method: 'POST',
    path: `/v1/sandboxes/{id}/files/${name}`,
    summary,
    tag,
    scope: 'use',
    owned: 'sandbox',
    params,
    body,
    responses,
  });
}

export const fileRoutes = {
  'file.read': route({
    method: 'GET',
    path: '/v1/sandboxes/{id}/files/content',
    summary: 'The bytes of a file; a part of it with `Range`',
    tag,
    scope: 'read',
    owned: 'sandbox',
    params,
    query: z.strictObject(at),
    responses: { 200: byteAnswer, 206: byteAnswer, 304: byteAnswer },
    download: 'bytes',
  }),
  'file.write': route({
    method: 'PUT',
    path: '/v1/sandboxes/{id}/files/content',
    summary: 'Write a whole file; it is replaced at the end of the upload or not at all',
    tag,
    scope: 'use',
    owned: 'sandbox',
    params,
    query: z.strictObject({
      ...at,
      mode: modeText.optional(),
      parents: flag.default(false).describe('make missing folders'),
      create: flag.default(false).describe('fail when it is there'),
    }),
    upload: 'bytes',
    responses: entry,
  }),
  'file.stat': route({
    method: 'GET',
    path: '/v1/sandboxes/{id}/files/stat',
    summary: 'One file, folder or other node',
    tag,
    scope: 'read',
    owned: 'sandbox',
    params,
    query: z.strictObject({ ...at, follow: flag.default(true).describe('what a symbolic link leads to') }),
    responses: entry,
  }),
  'file.list': route({
    method: 'GET',
    path: '/v1/sandboxes/{id}/files',
    summary: 'Entries of a folder, parents before children',
    tag,
    scope: 'read',
    owned: 'sandbox',
    params,
    query: z.strictObject({
      ...at,
      depth: z.coerce.number().int().min(1).max(64).default(1),
      limit: z.coerce.number().pipe(limit).default(1_000),
    }),
    responses: entries,
  }),
  'file.mkdir': change(
    'mkdir',
    'Make a folder',
    z.strictObject({ ...at, parents: z.boolean().default(false), mode: mode.optional() }),
    { 200: z.object({ created: z.boolean() }) },
  ),
  'file.move': change(
    'move',
    'Rename, atomically',
    z.strictObject({
      from: pathSchema,
      to: pathSchema,
      user: userSchema.optional(),
      replace: z.boolean().default(true),
    }),
    entry,
  ),
  'file.remove': change(
    'remove',
    'Remove a file, or a folder with everything in it',
    z.strictObject({ ...at, recursive: z.boolean().default(false), missingOk: z.boolean().default(false) }),
    done,
  ),
  'file.symlink': change(
    'symlink',
    'Make a symbolic link',
    z.strictObject({ ...at, target: pathSchema, replace: z.boolean().default(false) }),
    done,
  ),
  'file.chmod': change(
    'chmod',
    'Change permission bits',
    z.strictObject({ ...at, mode, recursive: z.boolean().default(false) }),
    done,
  ),
  'file.edit': change(
    'edit',
    'Replace exact pieces of text; all of them or none',
    z.strictObject({ ...at, edits: z.array(editSchema).min(1).max(1_000) }),
    { 200: fileEntrySchema.extend({ replaced: z.int() }) },
  ),
  'file.grep': route({
    method: 'POST',
    path: '/v1/sandboxes/{id}/files/grep',
    summary: 'Lines that match, by file in order of path',
    tag,
    scope: 'read',
    owned: 'sandbox',
    params,
    body: z.strictObject({
      ...at,
      pattern: z.string().min(1).max(4096),
      syntax: z.enum(['literal', 'extended']).default('literal').describe('plain text, or a POSIX extended expression'),
      ignoreCase: z.boolean().default(false),
      include: z.array(pattern).max(256).default([]),
      exclude: z.array(pattern).max(256).default([]),
      ignoreFiles: z.boolean().default(true).describe('obey .gitignore and .ignore'),
      hidden: z.boolean().default(false),
      contextLines: z.int().min(0).max(16).default(0),
      limit: limit.default(1_000).describe('most matches'),
      maxMatchesPerFile: limit.optional(),
    }),
    responses: {
      200: z.object({
        matches: z.array(grepMatchSchema),
        filesSearched: z.int(),
        filesSkipped: z.int().describe('binary, too large or unreadable'),
        truncated: z.boolean(),
      }),
    },
  }),
  'file.glob': route({
    method: 'POST',
    path: '/v1/sandboxes/{id}/files/glob',
    summary: 'Entries whose path matches; `**` crosses folders',
    tag,
    scope: 'read',
    owned: 'sandbox',
    params,
    body: z.strictObject({
      ...at,
      pattern,
      ignoreFiles: z.boolean().default(true),
      hidden: z.boolean().default(false),
      limit: limit.default(1_000),
    }),
    responses: entries,
  }),
  'file.tree.read': route({
    method: 'GET',
    path: '/v1/sandboxes/{id}/files/tree',
    summary: 'A folder with everything in it, as a POSIX tar archive',
    tag,
    scope: 'read',
    owned: 'sandbox',
    params,
    query: z.strictObject(at),
    responses: { 200: byteAnswer },
    download: 'tar',
  }),
  'file.tree.write': route({
    method: 'PUT',
    path: '/v1/sandboxes/{id}/files/tree',
    summary: 'Unpack a tar archive below a folder; each member is atomic, the whole is not',
    tag,
    scope: 'use',
    owned: 'sandbox',
    params,
    query: z.strictObject({ ...at, keepOwner: flag.default(false).describe('of the archive; needs root') }),
    upload: 'tar',
    responses: { 200: z.object({ entries: z.int(), bytes: z.int() }) },
  }),
  'file.watch': route({
    method: 'GET',
    path: '/v1/sandboxes/{id}/files/watch',
    summary: 'Changes below a folder as they happen; the first event says that the watch is in place',
    tag,
    scope: 'read',
    owned: 'sandbox',
    params,
    query: z.strictObject({ ...at, recursive: flag.default(true) }),
    responses: { 200: byteAnswer },
    download: 'events',
    stream: watchBatchSchema,
  }),
  'sandbox.stats': route({
    method: 'GET',
    path: '/v1/sandboxes/{id}/stats',
    summary: 'What it uses at the moment',
    tag: 'sandboxes',
    scope: 'read',
    owned: 'sandbox',
    params,
    responses: { 200: sandboxStatsSchema },
  }),
} as const;
