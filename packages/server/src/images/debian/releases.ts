import { CaissonError } from '@caisson/contract';

/** The releases of Debian that can be bootstrapped. `released` is the latest time that a file of the base may claim. */
export const debianReleases = [
  { name: 'bullseye', version: '11', released: '2021-08-14' },
  { name: 'bookworm', version: '12', released: '2023-06-10' },
  { name: 'trixie', version: '13', released: '2025-08-09' },
] as const;

export type DebianRelease = (typeof debianReleases)[number];
export const defaultRelease = 'bookworm';

/** By its name or its number. */
export function findRelease(given: string = defaultRelease): DebianRelease {
  const found = debianReleases.find(({ name, version }) => name === given || version === given);
  if (found) return found;
  throw new CaissonError('unsupported-os', `there is no Debian release \`${given}\` that can be bootstrapped`, {
    hint: `Choose one of ${debianReleases.map(({ name }) => name).join(', ')}, or give an image: \`{family: image, reference: …}\`.`,
  });
}
