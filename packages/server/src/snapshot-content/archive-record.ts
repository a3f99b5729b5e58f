import {
  CaissonError,
  labelsSchema,
  nameSchema,
  sandboxPolicySchema,
  sandboxSchema,
  snapshotKinds,
} from '@caisson/contract';
import * as z from 'zod';
import { check, parseJson } from '../images/oci/documents.ts';

/** Where the manifest has what an image cannot say. */
export const recordAnnotation = 'caisson.snapshot';
/** On a layer: the diff id that the exporting server has its files by. */
export const originAnnotation = 'caisson.origin';

/** Most of them are some kilobytes; it travels within the manifest, which may have four mebibytes. */
const maxRecordBytes = 3 * 1024 * 1024;

/**
 * What an archive says of its snapshot besides the files. The blueprint is not in it: it is made anew from the spec, so
 * that no archive brings one that no spec could.
 */
export const archiveRecordSchema = z.object({
  version: z.literal(1),
  snapshot: z.string().max(64).describe('its id where it was made'),
  kind: z.enum(snapshotKinds),
  name: nameSchema.nullable(),
  labels: labelsSchema,
  createdAt: z.iso.datetime(),
  spec: z.record(z.string(), z.unknown()),
  resolvedSpec: z.record(z.string(), z.unknown()),
  driver: nameSchema,
  persistence: sandboxSchema.shape.persistence,
  profile: sandboxSchema.shape.profile,
  policy: sandboxPolicySchema.extend({ keepTurns: z.int().min(1).max(10_000) }),
  image: z.string().max(100).describe('the digest of its image where it was made'),
  /** Folders and files of the machine that its base showed. */
  binds: z.array(z.object({ source: z.string().max(4096), target: z.string().max(4096) })).max(100),
});

export type ArchiveRecord = z.infer<typeof archiveRecordSchema>;

/** As an annotation. What could not be read again is not written. */
export function recordText(record: ArchiveRecord): string {
  const text = JSON.stringify(record);
  // It is quoted once more within the manifest.
  if (Buffer.byteLength(JSON.stringify(text)) <= maxRecordBytes) return text;
  throw new CaissonError('image_too_large', 'the spec of the snapshot is too large for an archive');
}

export function readRecord(annotations: Readonly<Record<string, string>>): ArchiveRecord {
  const text = annotations[recordAnnotation] ?? 'null';
  const bytes = Buffer.from(text.slice(0, maxRecordBytes + 1));
  const what = 'the record of the snapshot';
  return check(archiveRecordSchema, bytes.length > maxRecordBytes ? null : parseJson(bytes, what), what);
}
