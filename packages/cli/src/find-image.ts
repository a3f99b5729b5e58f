import { CaissonError, hasCode, type Image } from '@caisson/contract';
import type { Caisson } from '@caisson/sdk';

const whole = /^sha256:[0-9a-f]{64}$/;
/** Fewer digits mean too many images. */
const beginning = /^(?:sha256:)?[0-9a-f]{6,64}$/;

/** The image that somebody means by a digest, the beginning of one, or a name. */
export async function findImage(caisson: Caisson, ref: string): Promise<Image> {
  if (whole.test(ref)) return caisson.images.get(ref);
  const all = await listed(caisson);
  const start = `sha256:${ref.replace(/^sha256:/, '')}`;
  const byDigest = beginning.test(ref) ? all.filter(({ digest }) => digest.startsWith(start)) : [];
  const found = byDigest.length > 0 ? byDigest : all.filter(({ name }) => name === ref);
  const [image] = found;
  if (found.length === 1 && image) return image;
  if (image) throw new CaissonError('request_invalid', `${ref} means ${found.length} images; give more of the digest`);
  throw new CaissonError('image_not_found', `there is no image ${ref}`, {
    hint: '`caisson image list` shows yours, `--all` those that the server keeps.',
  });
}

/** All of them for who may see them, otherwise the caller's own. */
async function listed(caisson: Caisson): Promise<Image[]> {
  const own = await caisson.images.list();
  try {
    const kept = await caisson.images.list({ all: true });
    return [...kept, ...own.filter(({ digest }) => !kept.some((image) => image.digest === digest))];
  } catch (error) {
    if (!hasCode(error, 'scope_missing')) throw error;
    return own;
  }
}
