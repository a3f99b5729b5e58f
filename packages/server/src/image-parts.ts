import type { Backends } from './backends.ts';
import type { CollectLimits } from './images/collect.ts';
import { Shelf } from './images/shelf.ts';
import type { Secrets } from './network/secrets/secrets.ts';
import { ImageCatalog, type ImageHouse } from './sandbox/images/image-catalog.ts';
import { ImageKeeper } from './sandbox/images/image-keeper.ts';
import type { Store } from './store/store.ts';
import type { Logger } from './telemetry/log.ts';

/** What is asked about images, and what keeps their number down. */
export function openImages(parts: {
  readonly store: Store;
  readonly secrets: Secrets;
  readonly backends: Backends;
  readonly limits: Partial<CollectLimits> | undefined;
  readonly log: Pick<Logger, 'warn'> | undefined;
}): { readonly images: ImageCatalog; readonly stop: () => Promise<void> } {
  const { store, secrets, backends, limits, log } = parts;
  const house = backends.images && openHouse(backends.images, { store, backends, limits, log });
  house?.keeper.start();
  return { images: new ImageCatalog(store, secrets, house), stop: async () => house?.keeper.stop() };
}

function openHouse(
  images: NonNullable<Backends['images']>,
  { store, backends, limits, log }: Omit<Parameters<typeof openImages>[0], 'secrets'>,
): ImageHouse {
  const { drivers, filesystems } = backends;
  const shelf = new Shelf(images);
  const failed = (error: Error) => log?.warn({ err: error }, 'images that nothing refers to could not be removed');
  const keeper = new ImageKeeper({ store, shelf, storage: filesystems?.storage, drivers, limits, failed });
  return { images, shelf, keeper };
}
