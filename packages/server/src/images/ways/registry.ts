import { CaissonError } from '@caisson/contract';
import type { BaseImage } from '../images.ts';
import { readImage } from '../oci/content.ts';
import { parseReference, type RegistryReference } from '../reference.ts';
import { RegistryClient, type RegistryPlace } from '../registry/registry-client.ts';
import { RegistrySource } from '../registry/registry-source.ts';
import { fromRecord, settle, type Work } from './workshop.ts';

/**
 * The registry is asked each time, also for an image that is here: whether the caller may have it is its decision. Only
 * when it cannot be reached, and the digest says what is meant, is the kept one taken, where it came from there: a digest
 * beside a host that answers nobody would be a way to the images of others.
 */
export async function registryImage(
  text: string,
  reference: RegistryReference,
  place: RegistryPlace,
  work: Work,
): Promise<BaseImage> {
  const { host, repository } = place;
  const client = new RegistryClient(place);
  const source = new RegistrySource(client, reference, work.bounds);
  try {
    const content = await readImage(source, text, work.bounds, work.signal);
    const image = await settle(content, text, work);
    return { ...image, pinned: `${host}/${repository}@${content.rootDigest}` };
  } catch (error) {
    const kept = isUnreachable(error) && reference.digest ? await work.records.read(reference.digest) : undefined;
    if (kept === undefined || !isOf(kept.name, reference)) throw error;
    const notice = `the registry ${host} cannot be reached; the image was kept from an earlier time`;
    return { ...fromRecord(kept, work), name: text, notices: [notice, ...kept.notices], pinned: text };
  }
}

/** Whether what is called so came from the repository of the reference. */
function isOf(name: string, { host, repository }: RegistryReference): boolean {
  try {
    const from = parseReference(name, host);
    return from.kind === 'registry' && from.host === host && from.repository === repository;
  } catch {
    // What was made here has a name that is no reference.
    return false;
  }
}

function isUnreachable(error: unknown): boolean {
  return error instanceof CaissonError && error.context.unreachable === true;
}
