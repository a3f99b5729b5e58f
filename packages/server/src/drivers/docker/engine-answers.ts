import type { IncomingHttpHeaders } from 'node:http';
import * as z from 'zod';

/**
 * What is read of an engine's answers, and how it must look. What answers at an address need not be an engine, and an engine
 * need not be of a version that anybody tried: whatever has another form is refused where it enters.
 */

/** Part of a path of further calls: nothing that could be another path. */
const idForm = z.string().regex(/^(?:sha256:)?[0-9a-f]{12,128}$/);
/** Go writes an empty map, list or structure as null. */
const labels = z.record(z.string(), z.string()).nullish();
const count = z.number();

export const versionForm = z.object({ Version: z.string(), Os: z.string(), Arch: z.string() });

export const infoForm = z.object({
  NCPU: count.int().positive(),
  Driver: z.string(),
  DriverStatus: z.array(z.array(z.string())).nullish(),
  Runtimes: z.record(z.string(), z.unknown()).nullish(),
  DefaultRuntime: z.string().nullish(),
  SecurityOptions: z.array(z.string()).nullish(),
});

export const containerForm = z.object({
  Id: idForm,
  /** The id of its image, whose names may have gone. */
  Image: z.string(),
  Config: z.object({ Labels: labels }).nullish(),
  HostConfig: z.object({ ReadonlyRootfs: z.boolean().nullish() }).nullish(),
  /** How much of its files is its own, by what they claim to be long; only where that was asked. */
  SizeRw: count.nullish(),
  State: z.object({
    Status: z.string().nullish(),
    Running: z.boolean(),
    Paused: z.boolean(),
    OOMKilled: z.boolean().nullish(),
    ExitCode: count.nullish(),
    Error: z.string().nullish(),
    StartedAt: z.string(),
  }),
});

/** Under which runtime a container was made. Podman has it in a field of its own, and a word of no meaning in Docker's. */
export const runtimeForm = z.object({
  OCIRuntime: z.string().nullish(),
  HostConfig: z.object({ Runtime: z.string().nullish() }).nullish(),
});

export const containersForm = z.array(
  z.object({ Id: idForm, Names: z.array(z.string()).nullish(), Labels: labels, State: z.string(), Created: count }),
);

export const statsForm = z.object({
  cpu_stats: z.object({ cpu_usage: z.object({ total_usage: count.nullish() }).nullish() }).nullish(),
  memory_stats: z.object({ usage: count.nullish() }).nullish(),
  pids_stats: z.object({ current: count.nullish() }).nullish(),
});

/** Something that was made. */
export const madeForm = z.object({ Id: idForm });

export const imageForm = z.object({
  Id: idForm,
  RepoTags: z.array(z.string()).nullish(),
  Architecture: z.string().nullish(),
  Size: count.nullish(),
  Config: z
    .object({
      Env: z.array(z.string()).nullish(),
      Labels: labels,
      Volumes: z.record(z.string(), z.unknown()).nullish(),
    })
    .nullish(),
});

export const imagesForm = z.array(z.object({ RepoTags: z.array(z.string()).nullish() }));

export const volumeForm = z.object({ Name: z.string(), Mountpoint: z.string() });

export const volumesForm = z.object({ Volumes: z.array(volumeForm).nullish() });

/** What an engine tells of a path in a container, in a header. The mode has the bits of Go's. */
const pathStatForm = z.object({ mode: count, size: count, linkTarget: z.string().nullish() });

export type Container = z.infer<typeof containerForm>;
export type ListedContainer = z.infer<typeof containersForm>[number];
type PathStat = z.infer<typeof pathStatForm>;

/** Undefined where there is none that can be read. */
export function readPathStat(headers: IncomingHttpHeaders): PathStat | undefined {
  const text = headers['x-docker-container-path-stat'];
  if (typeof text !== 'string') return undefined;
  try {
    return pathStatForm.safeParse(JSON.parse(Buffer.from(text, 'base64').toString())).data;
  } catch {
    return undefined;
  }
}
