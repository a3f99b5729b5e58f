import { CaissonError, type Owner } from '@caisson/contract';
import { type BackendImage, ownImages } from '../drivers/driver.ts';

/**
 * Who may begin from what a backend has. Its own images are there for everybody. What Caisson itself made there, the files of
 * a sandbox above all, is its owner's, by whatever name or id somebody found it; what it brought there was brought for a
 * name, and is asked for by that.
 */
export function requireOwnImage(
  { made }: Pick<BackendImage, 'made'>,
  reference: string,
  asking: Pick<Owner, 'tenant' | 'project'>,
): void {
  if (!made) return;
  const { owner } = made;
  if (!owner || owner.tenant !== asking.tenant || owner.project !== asking.project) throw notYours(reference);
}

/** A name that only Caisson gives. Nobody else has such an image to offer, so none is looked for elsewhere. */
export function isOwnName(reference: string): boolean {
  return reference.startsWith(ownImages);
}

/** The same for one that is not there: nobody learns what others have. */
export function notYours(reference: string): CaissonError {
  return new CaissonError('image_not_found', `there is no image ${reference.slice(0, 200)} to begin from`, {
    hint: 'Name an image by its own name; `caisson restore` and `caisson fork` begin from the files of a sandbox.',
  });
}
