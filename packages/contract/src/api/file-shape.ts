import { z } from 'zod';

export const fileKinds = [
  'file',
  'directory',
  'symlink',
  'fifo',
  'socket',
  'character_device',
  'block_device',
] as const;

/** A file, folder or other node as every surface shows it. */
export const fileEntrySchema = z.object({
  path: z.string().describe('as asked for; in lists relative to what was listed'),
  kind: z.enum(fileKinds),
  size: z.int().describe('in bytes'),
  mode: z.int().describe('permission bits with setuid, setgid and sticky'),
  uid: z.int(),
  gid: z.int(),
  owner: z.string().nullable(),
  group: z.string().nullable(),
  modifiedAt: z.string().describe('to the millisecond'),
  target: z.string().nullable().describe('of a symbolic link'),
});

export type FileEntry = z.infer<typeof fileEntrySchema>;

export const grepMatchSchema = z.object({
  path: z.string().describe('relative to the root of the search'),
  line: z.int().describe('from 1'),
  text: z.string(),
  start: z.int().describe('byte of the line at which the match begins'),
  end: z.int(),
  before: z.array(z.string()),
  after: z.array(z.string()),
});

export type GrepMatch = z.infer<typeof grepMatchSchema>;

export const watchKinds = ['create', 'write', 'remove', 'rename', 'chmod'] as const;

export const watchBatchSchema = z.object({
  events: z.array(
    z.object({
      kind: z.enum(watchKinds),
      path: z.string().describe('relative to the watched folder'),
      renamedTo: z.string().nullable(),
      directory: z.boolean(),
    }),
  ),
  overflow: z.boolean().describe('changes before these were missed: look at everything again'),
});

export type WatchBatch = z.infer<typeof watchBatchSchema>;

/** What a sandbox uses at the moment. Null where neither the backend nor the kernel tells. */
export const sandboxStatsSchema = z.object({
  cpuSeconds: z.number().describe('since it was launched'),
  memoryBytes: z.int(),
  processes: z.int(),
  diskUsedBytes: z.int().nullable(),
  diskTotalBytes: z.int().nullable(),
  uptimeSeconds: z.number().nullable(),
});

export type SandboxStats = z.infer<typeof sandboxStatsSchema>;
