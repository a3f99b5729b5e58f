import { CaissonError } from '@caisson/contract';
import type { ResolvedImagePlan } from '@caisson/workspace-composition';
import type { ImageRecord } from '../image-records.ts';
import type { Images } from '../images.ts';
import { parseReference } from '../reference.ts';

/** The base that a plan names, by its digest alone. What is not here is made or fetched, and must be that one. */
export async function baseOfPlan(
  { base, os }: ResolvedImagePlan,
  images: Images,
  signal: AbortSignal,
  progress: (line: string) => void,
): Promise<ImageRecord> {
  const { records } = await images.workshop();
  if (base.kind !== 'registry') {
    const kept = await records.read(base.digest);
    if (kept !== undefined) return kept;
  }
  if (base.kind === 'rootfs-archive' && os.family === 'debian') {
    const release = os.release === undefined ? {} : { release: os.release };
    const made = await images.resolve({ family: 'debian', mode: 'require', ...release }, { signal, progress });
    const record = made.digest === base.digest ? await records.read(made.digest) : undefined;
    if (record !== undefined) return record;
    throw gone(base.reference);
  }
  const reference = base.kind === 'registry' ? byDigest(base.reference, base.digest) : base.reference;
  const found = await images.resolve({ family: 'image', mode: 'require', reference }, { signal, progress });
  const record = await records.read(found.digest);
  if (record === undefined || (base.kind !== 'registry' && found.digest !== base.digest)) throw gone(base.reference);
  return record;
}

function byDigest(text: string, digest: string): string {
  const reference = parseReference(text);
  if (reference.kind !== 'registry') throw new CaissonError('image_invalid', 'the base is not an image of a registry');
  return `${reference.host}/${reference.repository}@${digest}`;
}

function gone(reference: string): CaissonError {
  return new CaissonError('build_failed', `the base ${reference} is not the one that the plan was made for`, {
    hint: 'It was made again since: make the plan again, and build that.',
    context: { step: 'base' },
  });
}
