import { z } from 'zod';
import { idSchema, isId } from '../ids.ts';
import { labelsSchema, nameSchema } from '../names.ts';
import { ownerSchema } from '../owner.ts';

/**
 * A snapshot is the filesystem of a sandbox at one moment. It never changes, and outlives the sandbox.
 *
 * - `turn`: made by `turn-complete`; its name is `turn-0001` and so on. The numbers of a sandbox only rise.
 * - `tool`: made after a tool, when the sandbox asks for it.
 * - `named`: made because somebody wanted it. It is never removed by itself.
 *
 * `parent` is the snapshot that the files were last equal to before: after a rollback the next snapshots are another
 * branch, so that the snapshots of a sandbox are a tree.
 */
export const snapshotKinds = ['turn', 'tool', 'named'] as const;
export type SnapshotKind = (typeof snapshotKinds)[number];

/** Names that `turn-complete` gives. */
export const turnNamePattern = /^turn-\d+$/;

export function turnName(turn: number): string {
  return `turn-${String(turn).padStart(4, '0')}`;
}

/** What people may call a snapshot. */
export const snapshotNameSchema = nameSchema
  .refine((name) => !turnNamePattern.test(name), 'must not look like the name of a turn')
  // Whoever goes back to it by that name would be taken to mean the snapshot of that id.
  .refine((name) => !isId('snapshot', name), 'must not look like the id of a snapshot');

export const snapshotSchema = z.object({
  id: idSchema('snapshot'),
  sandbox: idSchema('sandbox').describe('whose files it has; the sandbox may be gone'),
  owner: ownerSchema,
  kind: z.enum(snapshotKinds),
  name: nameSchema.nullable().describe('unique within the sandbox'),
  turn: z.int().min(1).nullable(),
  parent: idSchema('snapshot').nullable(),
  labels: labelsSchema,
  blueprintDigest: z.string(),
  exclusiveBytes: z
    .int()
    .min(0)
    .nullable()
    .describe('what removing it would give back; null where it was not asked for'),
  frozenMs: z.number().min(0).nullable().describe('how long its processes stood still for it'),
  createdAt: z.iso.datetime(),
});

export type Snapshot = z.infer<typeof snapshotSchema>;

/** A snapshot by its id, or by its name within the sandbox at hand. */
export const snapshotRefSchema = z.union([idSchema('snapshot'), nameSchema]);
