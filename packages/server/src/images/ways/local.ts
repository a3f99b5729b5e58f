import type { BaseImage } from '../images.ts';
import { readLocalImage } from '../local/local-image.ts';
import type { LocalReference } from '../reference.ts';
import { settle, type Work } from './workshop.ts';

export async function localImage(
  text: string,
  reference: LocalReference,
  folders: readonly string[] | undefined,
  work: Work,
): Promise<BaseImage> {
  return work.drafts.use(async (draft) => {
    const { bounds, signal } = work;
    return settle(await readLocalImage(reference, { folders, bounds, draft, signal }), text, work);
  });
}
