import type { ImageBounds } from '../bounds.ts';
import type { DraftFolder } from '../draft-folder.ts';
import type { ImageRecord, ImageRecords } from '../image-records.ts';
import type { BaseImage } from '../images.ts';
import type { InUse } from '../in-use.ts';
import type { Layer, Layers } from '../layers.ts';
import type { ImageContent } from '../oci/content.ts';
import { fetchLayers } from '../oci/fetch-layers.ts';
import { imageSettings } from '../oci/image-settings.ts';

/** What every way to a base works with. */
export interface Workshop {
  readonly drafts: DraftFolder;
  readonly layers: Layers;
  readonly records: ImageRecords;
  readonly bounds: ImageBounds;
  readonly inUse: InUse;
}

export interface Work extends Workshop {
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}

/** Fetches what is missing of an image and records it. */
export async function settle(content: ImageContent, name: string, work: Work): Promise<BaseImage> {
  const kept = await work.records.read(content.digest);
  if (kept !== undefined) return { ...fromRecord(kept, work), name };
  const release = work.inUse.hold([content.digest, ...content.layers.map(({ diffId }) => diffId)]);
  try {
    return await fetch(content, name, work);
  } finally {
    release();
  }
}

async function fetch(content: ImageContent, name: string, work: Work): Promise<BaseImage> {
  const layers = await fetchLayers(content.layers, work.layers, work.signal, work.progress);
  const record: ImageRecord = {
    digest: content.digest,
    name,
    diffIds: layers.map(({ diffId }) => diffId),
    config: imageSettings(content.config),
    notices: noticesOf(layers),
    madeAt: new Date().toISOString(),
  };
  await work.records.write(record);
  return fromRecord(record, work);
}

export function fromRecord(record: ImageRecord, work: Pick<Workshop, 'layers'>): BaseImage {
  const { diffIds, ...image } = record;
  return { ...image, layers: diffIds.map((diffId) => work.layers.folderOf(diffId)) };
}

/** Of layers that were there already nothing is known any more; they were told of with the image that brought them. */
function noticesOf(layers: readonly Layer[]): string[] {
  const devices = layers.reduce((sum, { counts }) => sum + (counts?.skippedDevices ?? 0), 0);
  return devices === 0 ? [] : [`${devices} device files of the image were left out; a sandbox has its own /dev`];
}
