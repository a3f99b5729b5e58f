import { readdir } from 'node:fs/promises';
import { CaissonError } from '@caisson/contract';
import type { ResolvedImagePlan } from '@caisson/workspace-composition';
import type { ImageRecord } from '../../image-records.ts';
import { readDockerArchive } from '../../local/docker-archive.ts';
import { TarTree } from '../../local/tar-tree.ts';
import { fetchLayers } from '../../oci/fetch-layers.ts';
import type { Workshop } from '../../ways/workshop.ts';
import { imageOfPlan } from '../image-of-plan.ts';
import type { KeptImage } from '../kept-steps.ts';

export interface ResultParts {
  readonly plan: ResolvedImagePlan;
  readonly base: ImageRecord;
  /** How many of its layers are the base's. */
  readonly baseLayers: number;
  readonly file: string;
  readonly workshop: Workshop;
  readonly signal: AbortSignal;
}

/**
 * The archive of a result as an image of ours: our own base, and above it the layers of the steps. A layer in which nothing
 * is stands for a step that changed nothing, and is left out.
 */
export async function takeResult(parts: ResultParts): Promise<KeptImage> {
  const { plan, base, baseLayers, workshop, signal } = parts;
  const content = await readDockerArchive(await TarTree.open(parts.file), undefined, workshop.bounds, 'what was built');
  if (content.layers.length < baseLayers)
    throw new CaissonError('image_invalid', 'what BuildKit gave does not stand on the base that it was given');
  const above = await fetchLayers(content.layers.slice(baseLayers), workshop.layers, signal, () => {});
  const diffIds = [...base.diffIds];
  for (const { diffId, folder } of above) if ((await readdir(folder)).length > 0) diffIds.push(diffId);
  return imageOfPlan(plan, base, diffIds, workshop);
}
