import { z } from 'zod';
import { idSchema } from '../ids.ts';

/** What the other side of a diff is: a snapshot, or the files of the sandbox as they are now. */
export const diffTargetSchema = z.union([idSchema('snapshot'), z.literal('now')]);

export const treeNodeKinds = ['file', 'folder', 'link', 'other'] as const;
export type TreeNodeKind = (typeof treeNodeKinds)[number];

/** What stands at a path, on one side. */
export const treeNodeSchema = z.object({
  kind: z.enum(treeNodeKinds),
  size: z.int().min(0).describe('bytes of a file; of a folder what its filesystem says'),
  mode: z.int().min(0).describe('permission bits'),
  uid: z.int().min(0),
  gid: z.int().min(0),
});

export type TreeNode = z.infer<typeof treeNodeSchema>;

/**
 * - `added`, `removed`: it is only on one side. What is in a folder is told too, one by one.
 * - `replaced`: it is another kind of thing.
 * - `changed`: another content, or another target of a link. A file too large to be compared in time counts as changed.
 * - `attributes`: another mode, owner, capability, access list or attribute. Times alone are no difference.
 */
export const treeChanges = ['added', 'removed', 'replaced', 'changed', 'attributes'] as const;

export const diffItemSchema = z.object({
  path: z.string(),
  change: z.enum(treeChanges),
  before: treeNodeSchema.nullable(),
  after: treeNodeSchema.nullable(),
});

export type DiffItem = z.infer<typeof diffItemSchema>;

/** Parents before what is in them, names in the order of their bytes. */
export const diffSchema = z.object({
  from: idSchema('snapshot'),
  to: diffTargetSchema,
  items: z.array(diffItemSchema),
  next: z.string().nullable().describe('cursor of the next page; null when all was seen'),
  skipped: z.int().min(0).describe('folders that are too deep, and were not looked into'),
});

export type Diff = z.infer<typeof diffSchema>;

/** Why there is no text: a side is no text, or larger than what is compared line by line, or neither differs. */
export const fileDiffForms = ['text', 'binary', 'too-large', 'equal'] as const;

export const fileDiffSchema = z.object({
  path: z.string(),
  before: treeNodeSchema.nullable(),
  after: treeNodeSchema.nullable(),
  form: z.enum(fileDiffForms),
  text: z.string().nullable().describe('as `diff -u` writes it'),
});

export type FileDiff = z.infer<typeof fileDiffSchema>;

/** Each side of a diff by lines is held in memory, twice. */
export const maxFileDiffBytes = 1024 * 1024;
